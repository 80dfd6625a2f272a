"""What the machine, the shell and the container leave: the least of them counts."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest
import torch

from confgcn.exceptions import ResourceError
from confgcn.graph import Graph
from confgcn.io import memory
from confgcn.io.memory import left_by_container
from confgcn.models.base import Shape
from confgcn.models.confgcn.paper import PaperConfGCN


def test_a_method_that_does_not_fit_is_refused_with_both_numbers(
    six_nodes: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with torch.device("meta"):
        method = PaperConfGCN(Shape.of(six_nodes), hidden_dim=10**6, num_layers=3)
    needed = 5 * 4 * sum(p.numel() for p in method.parameters())
    monkeypatch.setattr(memory, "available_memory", lambda: needed)
    memory.check_memory(method)
    monkeypatch.setattr(memory, "available_memory", lambda: needed - 1)
    with pytest.raises(ResourceError, match=f"{needed:,} bytes, {needed - 1:,} are available"):
        memory.check_memory(method)


def test_available_memory_is_a_plausible_number() -> None:
    assert 10**6 < memory.available_memory() < 10**15


def test_a_limit_of_the_process_counts_where_it_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_on_machine", lambda: 1000)
    monkeypatch.setattr(memory, "left_by_container", lambda: None)
    for left, expected in ((None, 1000), (2000, 1000), (500, 500), (-1, 0)):
        monkeypatch.setattr(memory, "left_by_limits", lambda left=left: left)
        assert memory.available_memory() == expected


def test_the_limit_of_a_container_counts_where_it_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_on_machine", lambda: 1000)
    monkeypatch.setattr(memory, "left_by_limits", lambda: None)
    for left, expected in ((2000, 1000), (500, 500), (-1, 0)):
        monkeypatch.setattr(memory, "left_by_container", lambda left=left: left)
        assert memory.available_memory() == expected


def test_free_memory_is_read_from_linux_and_otherwise_all_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "MACHINE", table)
    everything = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert memory.free_on_machine() == everything  # there is no table
    table.write_text("MemTotal:  9 kB\nMemFree:  3 kB\n")
    assert memory.free_on_machine() == everything  # an old one
    table.write_text("MemTotal:  9 kB\nMemAvailable:  5 kB\n")
    assert memory.free_on_machine() == 5 * 1024


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
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (limits[kind], INFINITE))
    monkeypatch.setattr(memory, "USAGE", tmp_path / "statm")
    (tmp_path / "statm").write_text("3 2 1 0 0 5 0\n")
    expected = None if left is None else left - memory.RESERVE
    assert memory.left_by_limits() == expected


def test_without_a_table_of_usage_nothing_is_in_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "USAGE", tmp_path / "nowhere")
    assert [limit.used for limit in memory.LIMITS] == [0, 0]


def test_the_memory_in_use_is_a_plausible_number() -> None:
    addresses, data = (limit.used for limit in memory.LIMITS)
    assert 10**7 < data < addresses < 10**13


NEW = ("memory.max", "memory.current", "inactive_file {}\nactive_file 0\nanon 77\n")


OLD = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file {}\ntotal_active_file 0\ncache 77\n")


def group(folder: Path, files: tuple[str, str, str], limit: object, usage: int, reclaimable: int = 0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / files[0]).write_text(f"{limit}\n")
    (folder / files[1]).write_text(f"{usage}\n")
    (folder / "memory.stat").write_text(files[2].format(reclaimable))


def member(folder: Path, *lines: str) -> Path:
    file = folder / "cgroup"
    file.write_text("".join(line + "\n" for line in lines))
    return file


@pytest.mark.parametrize(
    ("files", "line", "inner"), [(NEW, "0::/box/inner", "box/inner"), (OLD, "5:memory:/box/inner", "memory/box/inner")]
)
def test_a_limit_minus_usage_plus_reclaimable_memory(
    tmp_path: Path, files: tuple[str, str, str], line: str, inner: str
) -> None:
    group(tmp_path / inner, files, 1000, 400, reclaimable=50)
    assert left_by_container(member(tmp_path, "3:cpu,cpuacct:/", line), tmp_path) == 650


def test_pages_of_both_kinds_are_reclaimable(tmp_path: Path) -> None:
    group(tmp_path / "box", NEW, 1000, 400)
    (tmp_path / "box" / "memory.stat").write_text("inactive_file 10\nactive_file 5\n")
    assert left_by_container(member(tmp_path, "0::/box"), tmp_path) == 615


def test_the_strictest_group_on_the_way_up_counts(tmp_path: Path) -> None:
    group(tmp_path, NEW, 10_000, 0)
    group(tmp_path / "box", NEW, 1000, 700)
    group(tmp_path / "box" / "inner", NEW, "max", 5)
    assert left_by_container(member(tmp_path, "0::/box/inner"), tmp_path) == 300
    group(tmp_path / "box" / "inner", NEW, 100, 5)
    assert left_by_container(member(tmp_path, "0::/box/inner"), tmp_path) == 95
    group(tmp_path, NEW, 50, 0)
    assert left_by_container(member(tmp_path, "0::/box/inner"), tmp_path) == 50


def test_inside_a_container_the_path_may_be_that_of_its_host(tmp_path: Path) -> None:
    group(tmp_path, NEW, 1000, 100)
    assert left_by_container(member(tmp_path, "0::/kubepods/pod1/abc"), tmp_path) == 900


def test_of_both_versions_the_stricter_counts(tmp_path: Path) -> None:
    group(tmp_path / "memory" / "box", OLD, 500, 100)
    group(tmp_path / "box", NEW, 1000, 100)
    assert left_by_container(member(tmp_path, "4:memory:/box", "0::/box"), tmp_path) == 400


def test_without_a_limit_there_is_nothing_to_go_by(tmp_path: Path) -> None:
    assert left_by_container(tmp_path / "none", tmp_path) is None
    assert left_by_container(member(tmp_path, "0::/"), tmp_path) is None
    group(tmp_path, NEW, "max", 5)
    assert left_by_container(member(tmp_path, "0::/"), tmp_path) is None
    group(tmp_path, NEW, 1000, 5)
    (tmp_path / "memory.stat").unlink()
    assert left_by_container(member(tmp_path, "0::/"), tmp_path) is None


@pytest.mark.parametrize("file", ["cgroup", "memory.max", "memory.current", "memory.stat"])
def test_files_of_another_form_are_as_none(tmp_path: Path, file: str) -> None:
    group(tmp_path, NEW, 1000, 5)
    membership = member(tmp_path, "0::/")
    assert left_by_container(membership, tmp_path) == 995
    (tmp_path / file).write_text("something else\nof no use at all\n")
    assert left_by_container(membership, tmp_path) is None


def test_the_groups_of_this_process_can_be_read() -> None:
    left = left_by_container()
    assert left is None or isinstance(left, int)


def test_memory_that_cannot_be_reserved_is_an_error_with_its_purpose() -> None:
    memory.require_memory(2**20, "to read a table")
    with pytest.raises(MemoryError, match=rf"{2**62} bytes to read a table"):
        memory.require_memory(2**62, "to read a table")
