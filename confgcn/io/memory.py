"""Is there memory for what is about to be trained? Better asked than killed."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from torch import nn

from confgcn.exceptions import ResourceError
from confgcn.io.control_groups import memory_left
from confgcn.io.memory_limits import left_by_limits

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # of glibc's malloc.h
LARGE_BYTES = 2**22  # of an array that is given back as soon as it is freed

COPIES = 5  # weights, gradients, two moments of Adam, the best weights so far


def check_memory(method: nn.Module) -> None:
    """Refuse a method whose parameters alone cannot be trained here; it may live on torch's meta device."""
    needed = COPIES * sum(p.numel() * p.element_size() for p in method.parameters())
    available = available_memory()
    if needed > available:
        raise ResourceError(
            f"not enough memory: the weights, their gradients and the optimiser take {needed:,} bytes, "
            f"{available:,} are available; try a smaller hidden_dim or num_layers"
        )


def reuse_freed_memory() -> None:
    """Let the allocator keep what is freed instead of giving it back to the system, where it can be told to (glibc).

    Every step frees and takes the same arrays: on a graph of a million nodes, getting their pages back from the
    system takes a fourth of the time of a step. The price is room: between arrays of different sizes gaps stay that
    fit none of them, a fifth to a half of what is in use. What was freed before is given back first. It holds for the
    whole process from then on, or until :func:`return_freed_memory`.
    """
    try:
        library = ctypes.CDLL(None)
        library.malloc_trim(0)
        library.mallopt(_M_MMAP_MAX, 0)
        library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)
    except (OSError, AttributeError):
        return


def return_freed_memory() -> None:
    """Give the system what is free by now, and from now on whatever is large, where the allocator can (glibc).

    For what follows a training, where arrays of every size come once and go, and for one of several workers. The next
    training asks for what it needs again.
    """
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.malloc_trim(0)
        library.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(_M_MMAP_MAX, 65_536)


def available_memory() -> int:
    """Bytes this process may still take: what the machine, its container and its own limit leave, the least of them."""
    bounds = [_free_memory(), memory_left(), left_by_limits()]
    return max(0, min(bound for bound in bounds if bound is not None))


def _free_memory() -> int:
    table = Path("/proc/meminfo")  # Linux; elsewhere the memory there is stands for the memory that is free
    if table.is_file():
        for line in table.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
