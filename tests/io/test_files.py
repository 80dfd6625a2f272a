"""Files are whole or refused: every flipped byte, truncation, other schema or foreign content is noticed."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from confgcn.exceptions import CorruptFileError, ResourceError, UnsafeFileError
from confgcn.io import files


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


def test_blocks_become_one_file_and_their_digest_is_that_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    found = files.write_blocks(path, (block for block in (b"one", b"", memoryview(b"two"))))
    assert path.read_bytes() == b"onetwo"
    assert found == files.digest(b"onetwo") == files.file_digest(path)
    assert files.write_blocks(path, []) == files.digest(b"")
    assert (path.read_bytes(), [entry.name for entry in tmp_path.iterdir()]) == (b"", ["file"])


@pytest.mark.parametrize(
    ("error", "raised"), [(OSError(errno.EIO, "broken"), ResourceError), (KeyError("x"), KeyError)]
)
def test_blocks_that_do_not_come_to_an_end_leave_the_old_file(
    tmp_path: Path, error: Exception, raised: type[Exception]
) -> None:
    path = tmp_path / "file"
    files.write_atomic(path, b"old")

    def blocks() -> Iterator[bytes]:
        yield b"new"
        assert files.temporary(path).is_file()
        raise error

    with pytest.raises(raised):
        files.write_blocks(path, blocks())
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


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """A folder of a stranger's may hold a link where a temporary file is to be."""
    file, victim = tmp_path / "file", tmp_path / "victim"
    victim.write_text("precious")
    files.temporary(file).symlink_to(victim)
    with pytest.raises(ResourceError, match=r"could not write .*/file: Too many levels of symbolic links"):
        files.write_atomic(file, b"new")
    assert (victim.read_text(), file.exists()) == ("precious", False)
    files.write_atomic(file, b"new")
    assert (victim.read_text(), file.read_bytes()) == ("precious", b"new")


@pytest.mark.parametrize("content", [b'{"a": "\\ud800"}', b'{"a": "\xed\xa0\x80"}', '{"a": 1}'.encode("utf-16")])
def test_json_that_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"x\.json: corrupt, not readable as JSON"):
        files.read_json(tmp_path / "x.json")


def test_escapes_of_whole_characters_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(r'{"a": "\u00e9 \ud83d\ude00"}')
    assert files.read_json(tmp_path / "x.json") == {"a": "é \U0001f600"}


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_a_number_that_no_file_of_ours_holds_fits_no_checksum(stem: Path, number: str) -> None:
    path = stem.with_suffix(".json")
    path.write_text(path.read_text().replace('"epoch": 3', f'"epoch": {number}'))
    with pytest.raises(CorruptFileError, match="its checksum does not match"):
        files.read_tensors(stem)


def test_neither_a_schema_nor_tensors_make_a_long_message(stem: Path) -> None:
    path, tensors = stem.with_suffix(".json"), stem.with_suffix(".safetensors")
    record = json.loads(path.read_text())
    header = json.dumps({"x" * 5000: {"dtype": "y" * 5000, "shape": [], "data_offsets": [0, 0]}}).encode()
    tensors.write_bytes(len(header).to_bytes(8, "little") + header)
    files.write_sealed(path, {"tensors_sha256": files.digest(tensors.read_bytes())})
    with pytest.raises(CorruptFileError, match=r"model\.safetensors: corrupt \(") as raised:
        files.read_tensors(stem)
    assert len(str(raised.value)) < 500
    path.write_text(json.dumps({**record, "schema": "x" * 5000}))
    with pytest.raises(CorruptFileError, match=r"model\.json: schema 'x{199}\.\.\.") as raised:
        files.read_tensors(stem)
    assert len(str(raised.value)) < 500


def test_where_one_of_several_cannot_be_replaced_none_is(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"old")
    other.symlink_to(one)
    with pytest.raises(ResourceError, match=r"other: .*no file"):
        files.write_together({one: b"new", other: b"new"})
    assert one.read_bytes() == b"old"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(CorruptFileError, match=r"x\.json: corrupt, it is no file"):
        files.read_json(tmp_path / "x.json")
