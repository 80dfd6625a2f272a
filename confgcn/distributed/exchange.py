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
        num_own: number of own rows.

    ``bytes_sent`` counts what this process has sent.
    """

    def __init__(
        self, lent: Tensor, lent_counts: Sequence[int], borrowed_counts: Sequence[int], *, num_own: int
    ) -> None:
        self.lent, self.num_own = lent, num_own
        self.lent_counts, self.borrowed_counts = list(lent_counts), list(borrowed_counts)
        one_each = SparseStructure(torch.arange(len(lent) + 1), lent, (len(lent), num_own))
        self.copies, _ = one_each.transposed  # of each own row: sums are formed in one order
        self.bytes_sent = 0

    def borrow(self, own: Tensor) -> Tensor:
        return self._exchange(own.index_select(0, self.lent), self.lent_counts, self.borrowed_counts)

    def give_back(self, borrowed: Tensor) -> Tensor:
        received = self._exchange(borrowed.contiguous(), self.borrowed_counts, self.lent_counts)
        ones = received.new_ones(self.copies.num_entries)
        return kernels.active().multiply(self.copies, ones, received)

    def add(self, numbers: Tensor) -> Tensor:
        total = numbers.clone()
        dist.all_reduce(total)
        return total

    def _exchange(self, rows: Tensor, sent: list[int], received: list[int]) -> Tensor:
        self.bytes_sent += rows.nbytes
        arrived = rows.new_empty(sum(received), rows.shape[1])
        dist.all_to_all_single(arrived, rows, received, sent)
        return arrived


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
    return HaloExchange(lent, lent_counts.tolist(), wanted.tolist(), num_own=len(own))
