"""Settings of the C library's allocator (glibc), which hold for a whole process until it ends.

glibc cannot report its settings and cannot switch its own adjustment of them on again, so a change cannot be undone.
The command line makes them for its own process; the library never does. A program that trains on large graphs by
itself can choose the same with the environment variables MALLOC_MMAP_MAX_ and MALLOC_TRIM_THRESHOLD_.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_MMAP_MAX = -1, -3, -4  # of glibc's malloc.h
LARGE_BYTES = 2**22  # of an array that is returned as soon as it is freed


def release_freed_memory() -> None:
    """Return free memory to the system. No setting is changed."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_freed_memory() -> None:
    """Keep memory that is freed from now on for later arrays of this process.

    Every training step frees and allocates the same arrays: on a graph of a million nodes, getting their pages back
    from the system takes a fourth of the time of a step. The price is memory: between arrays of different sizes gaps
    remain that fit none of them, a fifth to a half of the memory in use.
    """
    release_freed_memory()
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_MAX, 0)
        library.mallopt(_M_TRIM_THRESHOLD, 2**31 - 1)


def return_freed_memory() -> None:
    """Return free memory, and from now on every large array as soon as it is freed.

    For one of several workers: a graph is divided because one process cannot hold it, so memory comes before time.
    """
    release_freed_memory()
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        library.mallopt(_M_MMAP_MAX, 65_536)
