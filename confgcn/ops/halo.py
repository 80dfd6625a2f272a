"""Rows that a part of a graph borrows from the parts beside it."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from confgcn.ops.function import HandDerived


class Halo(Protocol):
    """What a part of a graph needs of others.

    The columns of a part's adjacency are its own nodes, numbered as its rows, and after them those it borrows.
    """

    def borrow(self, *own: Tensor) -> tuple[Tensor, ...]:
        """The borrowed rows (borrowed, width) of quantities of which every part has its own rows (own, width)."""

    def give_back(self, *borrowed: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The own rows that other parts hold copies of, each once, (lent,), and the sums over the copies of each."""

    def add(self, numbers: Tensor) -> Tensor:
        """The sum over all parts of what each of them gives, at the same time."""


def of_sources(halo: Halo | None, *own: Tensor) -> tuple[Tensor, ...]:
    """The rows of all sources of a part's edges, (own + borrowed, width), of several quantities in one exchange.

    Without a halo the own rows are all.
    """
    if halo is None:
        return own
    rows: tuple[Tensor, ...] = _OfSources.of(halo, *own)
    return rows


def joined(own: Tensor, halo: Halo | None) -> Tensor:
    """The same of one quantity, without a gradient."""
    return own if halo is None else torch.cat([own, *halo.borrow(own)])


def return_copies(of_sources: Tensor, rows: int, halo: Halo | None) -> Tensor:
    """The transpose of :func:`joined`: what belongs to each own row, (rows, width), in the place of what came."""
    own = of_sources[:rows]
    if halo is not None:
        lent, (sums,) = halo.give_back(of_sources[rows:])
        own[lent] += sums
    return own


class _OfSources(HandDerived):
    """What flows back to a row is the sum over its copies, in every part that holds one."""

    @staticmethod
    def forward(ctx: Any, halo: Halo, *own: Tensor) -> tuple[Tensor, ...]:
        ctx.rows, ctx.halo = len(own[0]), halo
        return tuple(torch.cat(both) for both in zip(own, halo.borrow(*own), strict=True))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        HandDerived.refuse_second_derivative()
        lent, sums = ctx.halo.give_back(*(gradient[ctx.rows :] for gradient in gradients))
        own = [gradient[: ctx.rows].clone() for gradient in gradients]
        for gradient, returned in zip(own, sums, strict=True):
            gradient[lent] += returned
        return None, *own
