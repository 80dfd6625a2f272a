"""Halo exchange: a shard of a graph reads rows of nodes that other shards own."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor

from confgcn.ops.autograd import HandDerived


class Halo(Protocol):
    """Communication with the other shards of a graph.

    The columns of a shard's adjacency are its own nodes, in the order of its rows, then its halo nodes: nodes of other
    shards with edges into it.
    """

    def gather(self, *own: Tensor) -> tuple[Tensor, ...]:
        """The rows of the halo nodes, (halo, width), of tables of which every shard has its own rows (own, width)."""

    def scatter_add(self, *halo_rows: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Send halo rows to their owners: the own rows with copies in other shards, (n,), and the sums over copies."""

    def all_reduce(self, numbers: Tensor) -> Tensor:
        """The sum over all shards, which call this at the same time."""


def with_halo_rows(halo: Halo | None, *own: Tensor) -> tuple[Tensor, ...]:
    """Own rows then halo rows, (own + halo, width), of several tables in one exchange; own rows without a halo."""
    if halo is None:
        return own
    rows: tuple[Tensor, ...] = _WithHaloRows.of(halo, *own)
    return rows


def append_halo_rows(own: Tensor, halo: Halo | None) -> Tensor:
    """Own rows then halo rows of one table, (own + halo, width), without a gradient."""
    return own if halo is None else torch.cat([own, *halo.gather(own)])


def add_halo_gradients(gradient: Tensor, rows: int, halo: Halo | None) -> Tensor:
    """The transpose of :func:`append_halo_rows`: the gradient of the own rows, (rows, width), in place."""
    own = gradient[:rows]
    if halo is not None:
        copied, (sums,) = halo.scatter_add(gradient[rows:])
        own[copied] += sums
    return own


class _WithHaloRows(HandDerived):
    """The gradient of a row is the sum over its copies in all shards."""

    @staticmethod
    def forward(ctx: Any, halo: Halo, *own: Tensor) -> tuple[Tensor, ...]:
        ctx.rows, ctx.halo = len(own[0]), halo
        return tuple(torch.cat(both) for both in zip(own, halo.gather(*own), strict=True))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        HandDerived.refuse_second_derivative()
        copied, sums = ctx.halo.scatter_add(*(gradient[ctx.rows :] for gradient in gradients))
        own = [gradient[: ctx.rows].clone() for gradient in gradients]
        for gradient, returned in zip(own, sums, strict=True):
            gradient[copied] += returned
        return None, *own
