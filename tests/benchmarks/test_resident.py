"""Peaks of memory: of this process, and of a command."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

SIZE = 64 * 2**20


@pytest.fixture
def resident(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("benchmarks/resident.py")


def test_the_peak_remembers_freed_memory_until_it_is_reset(resident: ModuleType) -> None:
    resident.reset_peak()
    before = resident.peak_bytes()
    filled = bytearray(b"x" * 2**20) * (SIZE // 2**20)
    del filled
    assert resident.peak_bytes() >= before + SIZE // 2
    resident.reset_peak()
    assert resident.peak_bytes() < before + SIZE // 2


def test_a_command_has_its_output_and_the_peak_of_its_process(resident: ModuleType) -> None:
    ended = resident.MonitoredCommand("-c", f"import time; x = b'x' * {SIZE}; time.sleep(0.3); print('done')")
    assert ended.output == "done\n"
    assert ended.peaks[0]["resident"] >= SIZE
    assert ended.seconds >= 0.3


def test_a_command_that_fails_ends_the_benchmark(resident: ModuleType) -> None:
    with pytest.raises(SystemExit, match="exit code 3"):
        resident.MonitoredCommand("-c", "raise SystemExit(3)")
