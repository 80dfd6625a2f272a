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

    def borrow(self, own: Tensor) -> Tensor:
        """The borrowed rows (borrowed, width) of a quantity of which every part has its own rows (own, width)."""

    def give_back(self, borrowed: Tensor) -> Tensor:
        """For each own row the sum over the copies of it that other parts hold, (own, width)."""

    def add(self, numbers: Tensor) -> Tensor:
        """The sum over all parts of what each of them gives, at the same time."""


def of_sources(own: Tensor, halo: Halo | None) -> Tensor:
    """The rows of all sources of a part's edges, (own + borrowed, width); without a halo the own ones are all."""
    if halo is None:
        return own
    rows: Tensor = _OfSources.of(own, halo)
    return rows


def joined(own: Tensor, halo: Halo | None) -> Tensor:
    """The same, without a gradient."""
    return own if halo is None else torch.cat([own, halo.borrow(own)])


def returned(of_sources: Tensor, rows: int, halo: Halo | None) -> Tensor:
    """The transpose of :func:`joined`: what belongs to each own row, (rows, width)."""
    return of_sources if halo is None else of_sources[:rows] + halo.give_back(of_sources[rows:])


class _OfSources(HandDerived):
    """What flows back to a row is the sum over its copies, in every part that holds one."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, halo: Halo) -> Tensor:
        ctx.rows, ctx.halo = len(own), halo
        return joined(own, halo)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        HandDerived.refuse_second_derivative()
        return returned(gradient, ctx.rows, ctx.halo), None
