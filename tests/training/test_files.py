"""Files are whole or refused: every flipped byte, truncation, other schema or foreign content is noticed."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from confgcn.exceptions import CorruptFileError, ResourceError, UnsafeFileError
from confgcn.training import files


@pytest.fixture
def stem(tmp_path: Path) -> Path:
    files.write_tensors(tmp_path / "model", {"w": torch.arange(100.0)}, {"epoch": 3})
    return tmp_path / "model"


def test_what_is_written_is_read_again(stem: Path) -> None:
    tensors, record = files.read_tensors(stem)
    assert torch.equal(tensors["w"], torch.arange(100.0))
    assert record["epoch"] == 3


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_one_flipped_bit_is_refused_by_name(stem: Path, suffix: str) -> None:
    path = stem.with_suffix(suffix)
    content = bytearray(path.read_bytes())
    for place in range(0, len(content), 17):
        damaged = content.copy()
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match=path.name):
            files.read_tensors(stem)


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_refused(stem: Path, suffix: str, share: float) -> None:
    path = stem.with_suffix(suffix)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(CorruptFileError, match="corrupt"):
        files.read_tensors(stem)


def test_another_schema_names_both_versions(stem: Path) -> None:
    path = stem.with_suffix(".json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    with pytest.raises(CorruptFileError, match=r"schema 99.*reads 1"):
        files.read_tensors(stem)


class Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_a_pickle_in_place_of_a_file_is_never_executed(stem: Path, suffix: str) -> None:
    canary = stem.parent / "canary"
    stem.with_suffix(suffix).write_bytes(pickle.dumps(Canary(canary)))
    with pytest.raises(UnsafeFileError):
        files.read_tensors(stem)
    assert not canary.exists()


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.write_atomic(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ResourceError, match="No space left on device"):
        files.write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_of_files_that_belong_together_all_are_replaced_or_none(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    files.write_together({one: b"old", other: b"old"})
    with pytest.raises(ResourceError, match=r"nowhere.*No such file or directory"):
        files.write_together({one: b"new", tmp_path / "nowhere" / "other": b"new"})
    assert (one.read_bytes(), other.read_bytes()) == (b"old", b"old")
    files.write_together({one: b"new", other: b"new"})
    assert (one.read_bytes(), other.read_bytes()) == (b"new", b"new")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["one", "other"]


@pytest.mark.parametrize(
    ("name", "whole"),
    [("a.json.12.tmp", "a.json"), ("a.json.tmp", "a.json"), ("a.json", "a.json"), ("a.x.tmp", "a.x"), (".tmp", ".tmp")],
)
def test_what_was_left_over_is_known_by_its_name(name: str, whole: str) -> None:
    assert files.became(name) == whole


def test_numbers_that_are_not_finite_are_never_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        files.to_json({"x": float("nan")})


def test_too_little_memory_for_saving_is_an_error_that_can_be_caught(tmp_path: Path) -> None:
    huge = torch.empty(1).expand(2**55)  # takes no memory itself
    with pytest.raises(MemoryError, match=r"\d+ bytes"):
        files.write_tensors(tmp_path / "model", {"huge": huge}, {})
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_has_left_of_a_file_goes_when_the_file_is_written_again(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    left = [f"table.csv.{dead.pid}.tmp", f"table.csv.{os.getppid()}.tmp", f"table.csv.{10**30}.tmp", "table.csv.tmp"]
    others = [f"other.csv.{dead.pid}.tmp", f"my-table.csv.{dead.pid}.tmp", "table.csv.old.tmp"]
    for name in (*left, *others):
        (tmp_path / name).touch()
    files.write_atomic(tmp_path / "table.csv", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["table.csv", *left[1:], *others])


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        (pickle.dumps([1], 0), False),  # plain values of protocol 0 name nothing
        (b"cposix\nsystem\n(S'x'\ntR.", True),
        *((pickle.dumps([1], protocol), True) for protocol in (2, 3, 4, 5)),
        (b"PK\x03\x04....archive/data.pkl....", True),
        (b"PK\x03\x04....features.npy....", False),
        (b"\x80\x02\x00\x00\x00\x00\x00\x00{", False),  # safetensors with a header of 640 bytes
        (b"", False),
    ],
)
def test_a_pickle_is_told_from_a_file_that_is_damaged(tmp_path: Path, content: bytes, is_one: bool) -> None:
    with pytest.raises(UnsafeFileError, match="x: is a pickle") if is_one else nullcontext():
        files.refuse_pickle(tmp_path / "x", content)
