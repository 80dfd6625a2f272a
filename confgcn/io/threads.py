"""How many threads a run computes with; the caller's number is restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits


@contextmanager
def computing_with(threads: int) -> Iterator[None]:
    """Within, torch and the BLAS libraries of scipy use so many threads. The bits of a result depend on the number."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with threadpool_limits(limits=threads, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)
