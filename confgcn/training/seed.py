"""One seed per run; the caller's random state is restored."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_GENERATOR = threading.RLock()


def seed_epoch(seed: int, epoch: int, rank: int) -> None:
    """Seed an epoch of one of several processes: each draws its own dropout masks, and the same after a resume."""
    generator = torch.Generator().manual_seed(seed)
    first, second = torch.randint(2**62, (2,), generator=generator).tolist()
    torch.manual_seed((first * epoch + second * rank + seed) % 2**63)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within, torch's default generator starts from ``seed``; afterwards its state is restored.

    All threads of a process share the generator, so runs in several threads take turns.
    """
    with _GENERATOR, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
