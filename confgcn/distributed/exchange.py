"""The halo exchange of a shard: rows of nodes that other workers own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from confgcn import kernels
from confgcn.sparse import SparseStructure


class HaloExchange:
    """Sends own rows to the workers that have copies of them, and sums what these send back (``confgcn.ops.Halo``).

    Args:
        copied: the own rows that go to each worker, (sent,): those for worker 0 first.
        sent_counts, received_counts: the number of rows that go to each worker, and that come from each.

    ``bytes_sent`` counts what this worker has sent.
    """

    def __init__(self, copied: Tensor, sent_counts: Sequence[int], received_counts: Sequence[int]) -> None:
        self.copied = copied
        self.sent_counts, self.received_counts = list(sent_counts), list(received_counts)
        self.copied_once, position = copied.unique(return_inverse=True)
        one_each = SparseStructure(torch.arange(len(copied) + 1), position, (len(copied), len(self.copied_once)))
        self.copies, _ = one_each.transposed  # of each copied row: the sums have one order
        self.bytes_sent = 0

    def gather(self, *own: Tensor) -> tuple[Tensor, ...]:
        sent = torch.cat([rows.index_select(0, self.copied) for rows in own], dim=1)
        return _split_columns(self._exchange(sent, self.sent_counts, self.received_counts), own)

    def scatter_add(self, *halo_rows: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        received = self._exchange(torch.cat(halo_rows, dim=1), self.received_counts, self.sent_counts)
        sums = kernels.active().multiply(self.copies, received.new_ones(self.copies.num_entries), received)
        return self.copied_once, _split_columns(sums, halo_rows)

    def all_reduce(self, numbers: Tensor) -> Tensor:
        total = numbers.clone()
        dist.all_reduce(total)
        return total

    def _exchange(self, rows: Tensor, sent: list[int], received: list[int]) -> Tensor:
        self.bytes_sent += rows.nbytes
        arrived = rows.new_empty(sum(received), rows.shape[1])
        dist.all_to_all_single(arrived, rows, received, sent)
        return arrived


def _split_columns(rows: Tensor, tables: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The columns of several tables, which were exchanged side by side."""
    columns: tuple[Tensor, ...] = rows.split([table.shape[1] for table in tables], dim=1)
    return columns


def make_exchange(halo_nodes: Tensor, owners: Tensor, own: Tensor) -> HaloExchange:
    """Send every owner the list of its nodes that this worker needs. All workers call this at the same time.

    Shapes: ``halo_nodes`` (h,), by their positions in the whole graph, and their ``owners`` (h,), sorted; ``own`` (n,),
    the nodes of this worker, sorted.
    """
    needed_counts = torch.bincount(owners, minlength=dist.get_world_size())
    sent_counts = torch.empty_like(needed_counts)
    dist.all_to_all_single(sent_counts, needed_counts)
    requested = halo_nodes.new_empty(int(sent_counts.sum()))
    dist.all_to_all_single(requested, halo_nodes, sent_counts.tolist(), needed_counts.tolist())
    copied = torch.searchsorted(own, requested)
    return HaloExchange(copied, sent_counts.tolist(), needed_counts.tolist())
