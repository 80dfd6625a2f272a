"""Files of a finished run are unchanged, or the changed file is named."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from confgcn.exceptions import CorruptFileError, UnsafeFileError
from confgcn.io.checksums import SUMS, damaged_files, refuse_pickle, verify, write_checksums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "one.txt").write_bytes(b"one")
    (tmp_path / "two.txt").write_bytes(b"two")
    (tmp_path / "unlisted.txt").write_bytes(b"")
    files = [tmp_path / name for name in ("two.txt", "one.txt", "never_written.txt")]
    write_checksums(tmp_path, files, not_yet_written={"last.txt": b"last"})
    (tmp_path / "last.txt").write_bytes(b"last")
    return tmp_path


def test_the_file_has_the_format_of_sha256sum(folder: Path) -> None:
    lines = (folder / SUMS).read_text().splitlines()
    hashes = {name: hashlib.sha256(name.removesuffix(".txt").encode()).hexdigest() for name in ("one.txt", "two.txt")}
    assert lines[1:3] == [f"{digest}  {name}" for name, digest in hashes.items()]
    assert [line.split("  ")[1] for line in lines[:3]] == ["last.txt", "one.txt", "two.txt"]
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", SUMS],  # noqa: S607
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stdout) == (0, "last.txt: OK\none.txt: OK\ntwo.txt: OK\n")


def test_unchanged_files_pass(folder: Path) -> None:
    (folder / "unlisted.txt").write_bytes(b"changed")
    assert damaged_files(folder) == {}
    verify(folder)


@pytest.mark.parametrize("content", [b"onf", b"on", b"", b"one\n"])
def test_an_altered_file_is_named(folder: Path, content: bytes) -> None:
    (folder / "one.txt").write_bytes(content)
    assert list(damaged_files(folder)) == ["one.txt"]
    with pytest.raises(CorruptFileError, match=r"one\.txt: corrupt, .* with --resume"):
        verify(folder)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "last.txt").unlink()
    with pytest.raises(CorruptFileError, match=r"last\.txt: missing"):
        verify(folder)


def test_every_flipped_bit_of_the_checksums_themselves_is_noticed(folder: Path) -> None:
    intact = (folder / SUMS).read_bytes()
    for position in range(len(intact)):
        altered = bytearray(intact)
        altered[position] ^= 1
        (folder / SUMS).write_bytes(altered)
        assert list(damaged_files(folder)) == [SUMS], position


@pytest.mark.parametrize("kept", [0, 1, 70, -1])
def test_truncated_checksums_are_noticed(folder: Path, kept: int) -> None:
    (folder / SUMS).write_bytes((folder / SUMS).read_bytes()[:kept])
    with pytest.raises(CorruptFileError, match=f"{SUMS}: corrupt"):
        verify(folder)


def test_no_checksums_are_damage_too(folder: Path) -> None:
    (folder / SUMS).unlink()
    with pytest.raises(CorruptFileError, match=f"{SUMS}: missing"):
        verify(folder)


def test_names_that_lead_elsewhere_are_not_followed(folder: Path) -> None:
    line = f"{hashlib.sha256(b'one').hexdigest()}  ../one.txt\n"
    seal = hashlib.sha256(line.encode()).hexdigest()
    (folder / SUMS).write_text(f"{line}# sha256 of the lines above: {seal}\n")
    with pytest.raises(CorruptFileError, match="not checksums of files beside it"):
        verify(folder)


def test_a_run_without_its_record_cannot_be_resumed(folder: Path) -> None:
    (folder / "config.json").write_bytes(b"{}")
    write_checksums(folder, [folder / "config.json"], not_yet_written={})
    (folder / "config.json").write_bytes(b"[]")
    with pytest.raises(CorruptFileError, match=r"config\.json: corrupt, .* with --overwrite"):
        verify(folder)


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
def test_a_pickle_is_distinguished_from_a_damaged_file(tmp_path: Path, content: bytes, is_one: bool) -> None:
    with pytest.raises(UnsafeFileError, match="x: is a pickle") if is_one else nullcontext():
        refuse_pickle(tmp_path / "x", content)
