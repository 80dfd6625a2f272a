"""One seed per run; the caller's random state is left as it was."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_STREAM = threading.RLock()


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within, torch's default stream starts from ``seed``; afterwards it goes on where it was.

    The stream is one for all threads of a process, so runs in several threads take turns.
    """
    with _STREAM, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
