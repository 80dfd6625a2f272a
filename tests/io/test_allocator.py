"""Settings of the allocator, each in a process of its own: they cannot be undone."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

from confgcn.io import allocator

SETTINGS = ("release_freed_memory", "keep_freed_memory", "return_freed_memory")

# The second array lies above the first, so that the first leaves a gap when it is freed.
FREE_A_LARGE_ARRAY = """
import os, sys
import numpy as np
from confgcn.io import allocator

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

for name in sys.argv[1:]:
    getattr(allocator, name)()
before = resident()
first, second = np.ones(12_500_000), np.ones(500_000)
del first
print((resident() - before) // 10**6)
"""


def megabytes_kept(*settings: str) -> int:
    """Of 100 MB that were freed, and 4 MB that are in use."""
    command = [sys.executable, "-c", FREE_A_LARGE_ARRAY, *settings]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another allocator")
@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ((), False),
        (("release_freed_memory",), False),
        (("keep_freed_memory",), True),
        (("keep_freed_memory", "return_freed_memory"), False),
    ],
)
def test_freed_memory_is_kept_only_after_that_setting(settings: tuple[str, ...], kept: bool) -> None:
    assert (megabytes_kept(*settings) > 90) is kept


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("error", [OSError, AttributeError])
def test_another_allocator_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str, error: type[Exception]) -> None:
    def refuse(library: None) -> None:
        raise error

    monkeypatch.setattr(allocator.ctypes, "CDLL", refuse)
    getattr(allocator, name)()
