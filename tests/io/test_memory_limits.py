"""Limits of the process: each is compared with what counts against it, and some is kept in reserve."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from confgcn.io import memory_limits

PAGE = os.sysconf("SC_PAGE_SIZE")
INFINITE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("addresses", "data", "left"),
    [
        (INFINITE, INFINITE, None),
        (9 * PAGE, INFINITE, 6 * PAGE),
        (INFINITE, 9 * PAGE, 4 * PAGE),
        (9 * PAGE, 7 * PAGE, 2 * PAGE),
        (INFINITE, 2 * PAGE, -3 * PAGE),
    ],
)
def test_the_strictest_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, addresses: int, data: int, left: int | None
) -> None:
    limits = {resource.RLIMIT_AS: addresses, resource.RLIMIT_DATA: data}
    monkeypatch.setattr(memory_limits.resource, "getrlimit", lambda kind: (limits[kind], INFINITE))
    monkeypatch.setattr(memory_limits, "USAGE", tmp_path / "statm")
    (tmp_path / "statm").write_text("3 2 1 0 0 5 0\n")
    expected = None if left is None else left - memory_limits.RESERVE
    assert memory_limits.left_by_limits() == expected


def test_where_nothing_tells_what_is_taken_all_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory_limits, "USAGE", tmp_path / "nowhere")
    assert [limit.taken for limit in memory_limits.LIMITS] == [0, 0]


def test_what_is_taken_is_a_plausible_number() -> None:
    addresses, data = (limit.taken for limit in memory_limits.LIMITS)
    assert 10**7 < data < addresses < 10**13
