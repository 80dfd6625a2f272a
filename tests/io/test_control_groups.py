"""What a container leaves: the strictest group on the way up, in the files of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.io.control_groups import memory_left

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
def test_a_limit_less_what_is_used_and_more_what_can_be_given_back(
    tmp_path: Path, files: tuple[str, str, str], line: str, inner: str
) -> None:
    group(tmp_path / inner, files, 1000, 400, reclaimable=50)
    assert memory_left(member(tmp_path, "3:cpu,cpuacct:/", line), tmp_path) == 650


def test_pages_of_both_kinds_can_be_given_back(tmp_path: Path) -> None:
    group(tmp_path / "box", NEW, 1000, 400)
    (tmp_path / "box" / "memory.stat").write_text("inactive_file 10\nactive_file 5\n")
    assert memory_left(member(tmp_path, "0::/box"), tmp_path) == 615


def test_the_strictest_group_on_the_way_up_counts(tmp_path: Path) -> None:
    group(tmp_path, NEW, 10_000, 0)
    group(tmp_path / "box", NEW, 1000, 700)
    group(tmp_path / "box" / "inner", NEW, "max", 5)
    assert memory_left(member(tmp_path, "0::/box/inner"), tmp_path) == 300
    group(tmp_path / "box" / "inner", NEW, 100, 5)
    assert memory_left(member(tmp_path, "0::/box/inner"), tmp_path) == 95
    group(tmp_path, NEW, 50, 0)
    assert memory_left(member(tmp_path, "0::/box/inner"), tmp_path) == 50


def test_inside_a_container_the_path_may_be_that_of_its_host(tmp_path: Path) -> None:
    group(tmp_path, NEW, 1000, 100)
    assert memory_left(member(tmp_path, "0::/kubepods/pod1/abc"), tmp_path) == 900


def test_of_both_versions_the_stricter_counts(tmp_path: Path) -> None:
    group(tmp_path / "memory" / "box", OLD, 500, 100)
    group(tmp_path / "box", NEW, 1000, 100)
    assert memory_left(member(tmp_path, "4:memory:/box", "0::/box"), tmp_path) == 400


def test_without_a_limit_there_is_nothing_to_go_by(tmp_path: Path) -> None:
    assert memory_left(tmp_path / "none", tmp_path) is None
    assert memory_left(member(tmp_path, "0::/"), tmp_path) is None
    group(tmp_path, NEW, "max", 5)
    assert memory_left(member(tmp_path, "0::/"), tmp_path) is None
    group(tmp_path, NEW, 1000, 5)
    (tmp_path / "memory.stat").unlink()
    assert memory_left(member(tmp_path, "0::/"), tmp_path) is None


@pytest.mark.parametrize("file", ["cgroup", "memory.max", "memory.current", "memory.stat"])
def test_files_of_another_form_are_as_none(tmp_path: Path, file: str) -> None:
    group(tmp_path, NEW, 1000, 5)
    membership = member(tmp_path, "0::/")
    assert memory_left(membership, tmp_path) == 995
    (tmp_path / file).write_text("something else\nof no use at all\n")
    assert memory_left(membership, tmp_path) is None


def test_the_groups_of_this_process_can_be_asked() -> None:
    left = memory_left()
    assert left is None or isinstance(left, int)
