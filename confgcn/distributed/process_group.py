"""The worker processes of one job, and the results of all shards in the first of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import Store
from torch.distributed.rendezvous import rendezvous

from confgcn.distributed.heartbeat import RENDEZVOUS_TIMEOUT, Heartbeat, end_process, reporting_lost_workers
from confgcn.distributed.launch import is_started_by_launcher
from confgcn.distributed.rendezvous import START, agree_on_start, end_after, store_of_start
from confgcn.exceptions import UsageError
from confgcn.graph import Graph, Shard
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.sparse import SparseStructure

MESSAGE_TIMEOUT = timedelta(days=1)  # lost workers are detected by their heartbeat
NODE_QUANTITIES = ("logits", "mu", "precision", "evidence")  # of a prediction: a row for every node
EDGE_QUANTITY = "influence"  # distances are not needed after training


class ProcessGroup:
    """All workers of the job (``confgcn.training.group.Group``); all make the same calls, in the same order."""

    def __init__(self, store: Store, heartbeat: Heartbeat) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.store, self.heartbeat = store, heartbeat

    def finish_setup(self) -> None:
        """Wait until all workers are ready to train: from now on a missing heartbeat is a fault."""
        self.wait()
        self.heartbeat.is_set_up = True

    def set_flag(self, name: str) -> None:
        """Set a flag that later starts of this job can read."""
        self.store.set(f"confgcn/{name}", "1")

    def has_flag(self, name: str) -> bool:
        """Was the flag set, in this start or an earlier one?"""
        return bool(self.store.check([f"confgcn/{name}"]))

    def sum(self, numbers: Sequence[float]) -> list[float]:
        total = torch.tensor(list(numbers), dtype=torch.double)
        dist.all_reduce(total)
        sums: list[float] = total.tolist()
        return sums

    def sum_tensors(self, tensors: Sequence[Tensor]) -> None:
        together = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(together)
        for tensor, total in zip(tensors, together.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def wait(self) -> None:
        self.sum([0.0])

    def collect(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """In the first worker the tensors of every worker, one after the other; in the others nothing."""
        own = [float(len(tensor)) for tensor in tensors]
        sizes = [self.sum(own if rank == self.rank else [0.0] * len(own)) for rank in range(self.size)]
        if self.rank:
            for tensor in tensors:
                dist.send(tensor.contiguous(), 0)
            return
        yield tensors
        for rank in range(1, self.size):
            received = tuple(t.new_empty(int(n), *t.shape[1:]) for t, n in zip(tensors, sizes[rank], strict=True))
            for tensor in received:
                dist.recv(tensor, rank)
            yield received


@contextmanager
def joined_group(*, backend: str = "gloo") -> Iterator[ProcessGroup]:
    """Connect to the other workers and monitor their heartbeats; disconnect at the end."""
    if not is_started_by_launcher():
        raise UsageError("not one of several workers: start them with torchrun")
    with reporting_lost_workers(None), end_after(RENDEZVOUS_TIMEOUT + 5.0, end_process):
        store, rank, size = next(rendezvous("env://", timeout=timedelta(seconds=RENDEZVOUS_TIMEOUT)))
        os.environ[START] = agree_on_start(store, rank, size)
        heartbeat = Heartbeat.start(rank, size)
    try:
        with reporting_lost_workers(heartbeat):
            store.set_timeout(MESSAGE_TIMEOUT)
            own_store = store_of_start(store)
            dist.init_process_group(backend, store=own_store, rank=rank, world_size=size, timeout=MESSAGE_TIMEOUT)
            yield ProcessGroup(store, heartbeat)
            heartbeat.stop(succeeded=True)
    finally:
        heartbeat.stop()
        if dist.is_initialized():
            dist.destroy_process_group()


def gathered_rows(rows: Tensor, shard: Shard, group: ProcessGroup) -> Tensor | None:
    """In the first worker the rows of all nodes, in the order of the whole graph; None in the others."""
    gathered = None
    for nodes, shard_rows in group.collect(shard.nodes, rows):
        gathered = shard_rows.new_empty(shard.total_nodes, *rows.shape[1:]) if gathered is None else gathered
        gathered[nodes] = shard_rows
    return gathered


def gathered_entries(
    values: Tensor, own: SparseStructure, shard: Shard, whole_adjacency: SparseStructure | None, group: ProcessGroup
) -> Tensor | None:
    """The same for the values of edges; only the first worker has the adjacency of all shards."""
    gathered = None
    for nodes, shard_values in group.collect(shard.nodes, values[order_in_graph(own, shard)]):
        assert whole_adjacency is not None
        gathered = shard_values.new_empty(whole_adjacency.num_entries) if gathered is None else gathered
        gathered[whole_adjacency.at_rows(nodes)[1]] = shard_values
    return gathered


def gathered_weights(method: AbstractMethod, graph: Graph, group: ProcessGroup) -> dict[str, Tensor]:
    """The weights: in the first worker with the rows of all nodes, in the others of their own nodes."""
    assert graph.shard is not None
    weights = dict(method.state_dict())
    for name in method.per_node:
        rows = gathered_rows(weights[name], graph.shard, group)
        weights[name] = weights[name] if rows is None else rows
    return weights


def gathered_prediction(
    prediction: Prediction, graph: Graph, whole_adjacency: SparseStructure | None, group: ProcessGroup
) -> Prediction | None:
    """In the first worker the prediction of all nodes and edges; None in the others."""
    assert graph.shard is not None
    quantities: dict[str, Tensor | None] = {}
    for name in (*NODE_QUANTITIES, EDGE_QUANTITY):
        values = getattr(prediction, name)
        if values is None:
            quantities[name] = None
        elif name in NODE_QUANTITIES:
            quantities[name] = gathered_rows(values, graph.shard, group)
        else:
            quantities[name] = gathered_entries(values, graph.adjacency, graph.shard, whole_adjacency, group)
    logits = quantities.pop("logits")
    return None if logits is None else Prediction(logits, **quantities)


def order_in_graph(own: SparseStructure, shard: Shard) -> Tensor:
    """The entries of a shard's adjacency, row by row in the order that their sources have in the whole graph."""
    sources = torch.cat([shard.nodes, shard.halo_nodes])[own.indices]
    return own.rows.mul(shard.total_nodes).add_(sources).argsort()
