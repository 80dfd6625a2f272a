"""How many threads a run computes with; the caller's number is left as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Within, torch uses so many threads. The bits of a result depend on the number."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
