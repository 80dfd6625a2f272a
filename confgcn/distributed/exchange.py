"""The halo of a shard: rows of other shards, fetched from the processes that own them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from confgcn import kernels
from confgcn.sparse import SparseStructure


class HaloExchange:
    """Sends own rows to whoever borrows them, and adds up what comes back.

    Args:
        lent: the own rows that each process borrows, (sent,): those of process 0 first.
        lent_counts, borrowed_counts: how many rows go to each process, and come from each.

    ``bytes_sent`` counts what this process has sent.
    """

    def __init__(self, lent: Tensor, lent_counts: Sequence[int], borrowed_counts: Sequence[int]) -> None:
        self.lent = lent
        self.lent_counts, self.borrowed_counts = list(lent_counts), list(borrowed_counts)
        self.lent_once, place = lent.unique(return_inverse=True)
        one_each = SparseStructure(torch.arange(len(lent) + 1), place, (len(lent), len(self.lent_once)))
        self.copies, _ = one_each.transposed  # of each lent row: sums are formed in one order
        self.bytes_sent = 0

    def gather(self, *own: Tensor) -> tuple[Tensor, ...]:
        sent = torch.cat([rows.index_select(0, self.lent) for rows in own], dim=1)
        return _in_widths_of(own, self._exchange(sent, self.lent_counts, self.borrowed_counts))

    def scatter_add(self, *borrowed: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        received = self._exchange(torch.cat(borrowed, dim=1), self.borrowed_counts, self.lent_counts)
        sums = kernels.active().multiply(self.copies, received.new_ones(self.copies.num_entries), received)
        return self.lent_once, _in_widths_of(borrowed, sums)

    def all_reduce(self, numbers: Tensor) -> Tensor:
        total = numbers.clone()
        dist.all_reduce(total)
        return total

    def _exchange(self, rows: Tensor, sent: list[int], received: list[int]) -> Tensor:
        self.bytes_sent += rows.nbytes
        arrived = rows.new_empty(sum(received), rows.shape[1])
        dist.all_to_all_single(arrived, rows, received, sent)
        return arrived


def _in_widths_of(quantities: Sequence[Tensor], rows: Tensor) -> tuple[Tensor, ...]:
    parts: tuple[Tensor, ...] = rows.split([quantity.shape[1] for quantity in quantities], dim=1)
    return parts


def make_exchange(borrowed: Tensor, owners: Tensor, own: Tensor) -> HaloExchange:
    """Tell every owner which of its nodes are borrowed, once.

    Shapes: ``borrowed`` (b,), nodes by their place in the whole, and the processes that are their ``owners`` (b,),
    sorted; ``own`` (n,), the nodes of this process, sorted.
    """
    size = dist.get_world_size()
    wanted = torch.bincount(owners, minlength=size)
    lent_counts = torch.empty_like(wanted)
    dist.all_to_all_single(lent_counts, wanted)
    asked_for = borrowed.new_empty(int(lent_counts.sum()))
    dist.all_to_all_single(asked_for, borrowed, lent_counts.tolist(), wanted.tolist())
    lent = torch.searchsorted(own, asked_for)
    return HaloExchange(lent, lent_counts.tolist(), wanted.tolist())
