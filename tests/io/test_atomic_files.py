"""A written file is complete or absent, and nothing is written through a link."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from confgcn.exceptions import ResourceError
from confgcn.io import atomic_files
from confgcn.io.atomic_files import (
    atomic_folder,
    target_name,
    temporary_path,
    write_atomic,
    write_blocks,
    write_together,
)
from confgcn.io.checksums import digest, file_digest


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic_files.os, "fsync", full)
    with pytest.raises(ResourceError, match="No space left on device"):
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_blocks_become_one_file_and_their_digest_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    found = write_blocks(path, (block for block in (b"one", b"", memoryview(b"two"))))
    assert path.read_bytes() == b"onetwo"
    assert found == digest(b"onetwo") == file_digest(path)
    assert write_blocks(path, []) == digest(b"")
    assert (path.read_bytes(), [entry.name for entry in tmp_path.iterdir()]) == (b"", ["file"])


@pytest.mark.parametrize(
    ("error", "raised"), [(OSError(errno.EIO, "broken"), ResourceError), (KeyError("x"), KeyError)]
)
def test_blocks_that_fail_leave_the_old_file(tmp_path: Path, error: Exception, raised: type[Exception]) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")

    def blocks() -> Iterator[bytes]:
        yield b"new"
        assert temporary_path(path).is_file()
        raise error

    with pytest.raises(raised):
        write_blocks(path, blocks())
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_files_written_together_are_all_replaced_or_none(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    write_together({one: b"old", other: b"old"})
    with pytest.raises(ResourceError, match=r"nowhere.*No such file or directory"):
        write_together({one: b"new", tmp_path / "nowhere" / "other": b"new"})
    assert (one.read_bytes(), other.read_bytes()) == (b"old", b"old")
    write_together({one: b"new", other: b"new"})
    assert (one.read_bytes(), other.read_bytes()) == (b"new", b"new")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["one", "other"]


@pytest.mark.parametrize(
    ("name", "target"),
    [("a.json.12.tmp", "a.json"), ("a.json.tmp", "a.json"), ("a.json", "a.json"), ("a.x.tmp", "a.x"), (".tmp", ".tmp")],
)
def test_the_target_of_a_temporary_file_is_known_by_its_name(name: str, target: str) -> None:
    assert target_name(name) == target


def test_temporary_files_of_killed_processes_are_removed_by_the_next_write(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    left = [f"table.csv.{dead.pid}.tmp", f"table.csv.{os.getppid()}.tmp", f"table.csv.{10**30}.tmp", "table.csv.tmp"]
    others = [f"other.csv.{dead.pid}.tmp", f"my-table.csv.{dead.pid}.tmp", "table.csv.old.tmp"]
    for name in (*left, *others):
        (tmp_path / name).touch()
    write_atomic(tmp_path / "table.csv", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["table.csv", *left[1:], *others])


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """A folder of a stranger's may hold a link where a temporary file is to be."""
    file, victim = tmp_path / "file", tmp_path / "victim"
    victim.write_text("precious")
    temporary_path(file).symlink_to(victim)
    with pytest.raises(ResourceError, match=r"could not write .*/file: Too many levels of symbolic links"):
        write_atomic(file, b"new")
    assert (victim.read_text(), file.exists()) == ("precious", False)
    write_atomic(file, b"new")
    assert (victim.read_text(), file.read_bytes()) == ("precious", b"new")


def test_where_one_of_several_cannot_be_replaced_none_is(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"old")
    other.symlink_to(one)
    with pytest.raises(ResourceError, match=r"other: .*not a regular file"):
        write_together({one: b"new", other: b"new"})
    assert one.read_bytes() == b"old"


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "new" / "folder") as folder:
        (folder / "file").write_text("x")
        assert not (tmp_path / "new" / "folder").exists()
    assert (tmp_path / "new" / "folder" / "file").read_text() == "x"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["folder"]


def test_an_error_leaves_the_old_folder_and_no_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("before")
    with pytest.raises(FileNotFoundError), atomic_folder(tmp_path / "old") as folder:
        (folder / "folder" / "file").write_text("after")
    assert (tmp_path / "old" / "file").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_an_old_folder_is_replaced(tmp_path: Path) -> None:
    for text in ("before", "after"):
        with atomic_folder(tmp_path / "folder") as folder:
            (folder / "file").write_text(text)
    assert (tmp_path / "folder" / "file").read_text() == "after"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
