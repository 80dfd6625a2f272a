"""The estimate for a large graph, from measurements with known coefficients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

NODE_BYTES, ENTRY_BYTES, PROGRAM = 5_000.0, 100.0, 3e8


@pytest.fixture
def capacity(script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return script("benchmarks/capacity.py")


def measured(what: str, nodes: int, entries: int, **more: Any) -> dict[str, Any]:
    peak = PROGRAM + NODE_BYTES * nodes + ENTRY_BYTES * entries
    seconds = 2e-6 * nodes + 1e-7 * entries
    row = {"what": what, "nodes": nodes, "entries": entries, "peak": peak, "seconds": seconds, "preset": "released"}
    return {**row, "workers": 1, "threads": 1, "bytes_per_step": 0, "borrowed": 1, **more}


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    parts = {"workers": 2, "by": "hash", "bytes_per_step": 368_000, "borrowed": 1_000}
    return [
        measured("step", 100_000, 1_380_000),
        measured("step", 1_000_000, 13_800_000),
        measured("density", 100_000, 2_660_000),
        measured("step", 1_000_000, 13_800_000, **parts),
    ]


def test_shares_are_found_again(capacity: Any, rows: list[dict[str, Any]]) -> None:
    shares = capacity.shares_of(rows, "released")
    assert shares.node_bytes == pytest.approx(NODE_BYTES)
    assert shares.entry_bytes == pytest.approx(ENTRY_BYTES)
    assert shares.program_bytes == pytest.approx(PROGRAM)
    assert (shares.node_seconds, shares.entry_seconds) == pytest.approx((2e-6, 1e-7))
    assert shares.borrowed_bytes == 368


def test_as_few_machines_as_hold_it(capacity: Any, rows: list[dict[str, Any]]) -> None:
    machine = capacity.Machines(cores=1, memory=1e12, usable=0.5)
    shares = capacity.shares_of(rows, "released")
    found = capacity.plan(shares, 1e8, 1e9, 0.01, machine)  # 500 GB of nodes and 210 GB of entries
    assert found.machines == 2
    assert found.gigabytes == pytest.approx((5e11 + 2.1e11) / 2 / 1e9 + 0.3 + 2 * 368 * 0.01 * 2.1e9 / 2 / 1e9)
    assert found.sent == pytest.approx(368 * 0.01 * 2.1e9 / 2 / 1e9)
    assert found.compute == pytest.approx((200 + 210) / 2 / capacity.Machines().side_by_side)
    judged = 1e8 * (29 * 40 + 64) + 36 * 2.1e9 + PROGRAM + 8 * 40 * 1e8 / 2
    assert found.first == pytest.approx(judged / 1e9)
    assert found.hours(2) == pytest.approx(2 * (found.compute + found.exchange) / 3600)


def test_one_machine_sends_nothing(capacity: Any, rows: list[dict[str, Any]]) -> None:
    found = capacity.plan(capacity.shares_of(rows, "released"), 1e5, 1e6, 0.5)
    assert (found.machines, found.sent, found.exchange) == (1, 0.0, 0.0)
