"""The estimate of memory counts every copy of every parameter, and needs none itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from confgcn.exceptions import ResourceError
from confgcn.graph import Graph
from confgcn.io import memory
from confgcn.models.base import Shape
from confgcn.models.confgcn.network import ConfGCN


def test_a_method_that_does_not_fit_is_refused_with_both_numbers(
    six_nodes: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with torch.device("meta"):
        method = ConfGCN(Shape.of(six_nodes), hidden_dim=10**6, num_layers=3)
    needed = 5 * 4 * sum(p.numel() for p in method.parameters())
    monkeypatch.setattr(memory, "available_memory", lambda: needed)
    memory.check_memory(method)
    monkeypatch.setattr(memory, "available_memory", lambda: needed - 1)
    with pytest.raises(ResourceError, match=f"{needed:,} bytes, {needed - 1:,} are available"):
        memory.check_memory(method)


def test_available_memory_is_a_plausible_number() -> None:
    assert 10**6 < memory.available_memory() < 10**15


def test_a_limit_of_the_process_counts_where_it_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_free_memory", lambda: 1000)
    monkeypatch.setattr(memory, "memory_left", lambda: None)
    for left, expected in ((None, 1000), (2000, 1000), (500, 500), (-1, 0)):
        monkeypatch.setattr(memory, "left_by_limits", lambda left=left: left)
        assert memory.available_memory() == expected


def test_what_a_container_leaves_counts_where_it_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_free_memory", lambda: 1000)
    monkeypatch.setattr(memory, "left_by_limits", lambda: None)
    for left, expected in ((2000, 1000), (500, 500), (-1, 0)):
        monkeypatch.setattr(memory, "memory_left", lambda left=left: left)
        assert memory.available_memory() == expected


def test_free_memory_is_what_linux_says_and_else_what_there_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "Path", lambda _: table)
    everything = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert memory._free_memory() == everything  # there is no table
    table.write_text("MemTotal:  9 kB\nMemFree:  3 kB\n")
    assert memory._free_memory() == everything  # an old one
    table.write_text("MemTotal:  9 kB\nMemAvailable:  5 kB\n")
    assert memory._free_memory() == 5 * 1024
