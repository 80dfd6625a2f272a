"""One seed per run; the caller's random state is left as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_STREAM = threading.RLock()


def begin_epoch(seed: int, epoch: int, rank: int) -> None:
    """Of a training in several processes: masks of its own for each, the same ones after a resume."""
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.randint(2**62, (2,), generator=generator).tolist()
    torch.manual_seed((first * epoch + second * rank + seed) % 2**63)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within, torch's default stream starts from ``seed``; afterwards it goes on where it was.

    The stream is one for all threads of a process, so runs in several threads take turns.
    """
    with _STREAM, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
