"""The processes of one job, as torchrun starts them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from confgcn.distributed.launch import VARIABLES
from confgcn.distributed.watch import Watch, lost_touch
from confgcn.exceptions import UsageError

PATIENCE = timedelta(days=1)  # of a message: whether a process still lives is for the watch to say


class ProcessGroup:
    """The other processes of the job; every one asks the same of it, in the same order."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def add(self, numbers: Sequence[float]) -> list[float]:
        total = torch.tensor(list(numbers), dtype=torch.double)
        dist.all_reduce(total)
        sums: list[float] = total.tolist()
        return sums

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        together = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(together)
        for tensor, total in zip(tensors, together.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def wait(self) -> None:
        """Until all have come so far."""
        self.add([0.0])

    def collect(self, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
        """To the first process what each of them gives, one after the other; to the others nothing."""
        own = [float(len(tensor)) for tensor in tensors]
        sizes = [self.add(own if rank == self.rank else [0.0] * len(own)) for rank in range(self.size)]
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
    missing = [name for name in VARIABLES if name not in os.environ]
    if missing:
        raise UsageError(f"not started by torchrun: {', '.join(missing)} is not set")
    with lost_touch(None):
        dist.init_process_group(backend, timeout=PATIENCE)
    watch = Watch.start(dist.get_rank(), dist.get_world_size())
    try:
        with lost_touch(watch):
            yield ProcessGroup()
            watch.stop()
    finally:
        watch.stop()
        if dist.is_initialized():
            dist.destroy_process_group()
