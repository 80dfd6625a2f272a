"""The processes of one job, as torchrun starts them."""

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

from confgcn.distributed.launch import is_started_by_launcher
from confgcn.distributed.rendezvous import START, agreed_start, of_this_start, within
from confgcn.distributed.watch import LONGEST_MEETING, Watch, leave, lost_touch
from confgcn.exceptions import UsageError

PATIENCE = timedelta(days=1)  # of a message: whether a process still lives is for the watch to say


class ProcessGroup:
    """The other processes of the job; every one asks the same of it, in the same order."""

    def __init__(self, store: Store, watch: Watch) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.store, self.watch = store, watch

    def set_up(self) -> None:
        """All of them are ready to train: from now on a long silence is a fault."""
        self.wait()
        self.watch.is_set_up = True

    def remember(self, what: str) -> None:
        """Write down what holds for the job, should it be started again."""
        self.store.set(f"confgcn/{what}", "1")

    def remembers(self, what: str) -> bool:
        """Was it written down, now or before the job was started again?"""
        return bool(self.store.check([f"confgcn/{what}"]))

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
        """Until all have come so far."""
        self.sum([0.0])

    def collect(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """To the first process what each of them gives, one after the other; to the others nothing."""
        own = [float(len(tensor)) for tensor in tensors]
        sizes = [self.sum(own if rank == self.rank else [0.0] * len(own)) for rank in range(self.size)]
        if self.rank:
            for tensor in tensors:
                dist.send(tensor.contiguous(), 0)
            return
        yield tensors
        for rank in range(1, self.size):
            theirs = tuple(t.new_empty(int(n), *t.shape[1:]) for t, n in zip(tensors, sizes[rank], strict=True))
            for tensor in theirs:
                dist.recv(tensor, rank)
            yield theirs


@contextmanager
def joined_group(*, backend: str = "gloo") -> Iterator[ProcessGroup]:
    """Meet the other processes, keep an eye on them, and part from them."""
    if not is_started_by_launcher():
        raise UsageError("not one of several workers: start them with torchrun")
    with lost_touch(None), within(LONGEST_MEETING + 5.0, leave):
        store, rank, size = next(rendezvous("env://", timeout=timedelta(seconds=LONGEST_MEETING)))
        os.environ[START] = agreed_start(store, rank, size)
        watch = Watch.start(rank, size)
    try:
        with lost_touch(watch):
            store.set_timeout(PATIENCE)
            meeting = of_this_start(store)
            dist.init_process_group(backend, store=meeting, rank=rank, world_size=size, timeout=PATIENCE)
            yield ProcessGroup(store, watch)
            watch.stop(well=True)
    finally:
        watch.stop()
        if dist.is_initialized():
            dist.destroy_process_group()
