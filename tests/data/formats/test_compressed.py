"""Files are unpacked by what they hold, whole or not at all, and never beyond a cap."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from confgcn.data.formats import compressed
from confgcn.data.formats.compressed import read_content
from confgcn.exceptions import DataError, ResourceError

PACKERS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
packers = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
Pack = Callable[[bytes], bytes]


@packers
@pytest.mark.parametrize("name", ["table.gz", "table.csv", "table.xz", "table"])
def test_g12_the_content_says_how_it_is_packed_whatever_the_name(tmp_path: Path, pack: Pack, name: str) -> None:
    (tmp_path / name).write_bytes(pack(b"source,target\n"))
    assert read_content(tmp_path / name) == b"source,target\n"


def test_g12_plain_text_with_the_name_of_a_packed_file_is_plain_text(tmp_path: Path) -> None:
    (tmp_path / "table.gz").write_bytes(b"BZh,text\n")
    assert read_content(tmp_path / "table.gz") == b"BZh,text\n"


@packers
def test_g13_every_truncation_is_an_error_and_no_part_of_the_content(tmp_path: Path, pack: Pack) -> None:
    path = tmp_path / "table.csv"
    packed = pack(b"source,target\n" * 50)
    for length in range(12, len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(DataError, match=r"table\.csv: the compressed file is (truncated|damaged)"):
            read_content(path)


def test_g13_a_file_cut_in_the_middle_is_called_truncated(tmp_path: Path) -> None:
    packed = gzip.compress(bytes(range(256)) * 20)
    (tmp_path / "table.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(DataError, match="truncated"):
        read_content(tmp_path / "table.gz")


@packers
def test_a_damaged_file_is_an_error(tmp_path: Path, pack: Pack) -> None:
    packed = bytearray(pack(bytes(range(256)) * 20))
    packed[len(packed) // 2] ^= 0xFF
    (tmp_path / "table.gz").write_bytes(packed)
    with pytest.raises(DataError, match=r"table\.gz"):
        read_content(tmp_path / "table.gz")


@packers
def test_x15_a_bomb_is_refused_while_it_is_unpacked(
    tmp_path: Path, pack: Pack, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bomb").write_bytes(pack(bytes(5_000_000)))
    assert len(read_content(tmp_path / "bomb")) == 5_000_000
    monkeypatch.setattr(compressed, "EXPANSION_FREE_BYTES", 10_000)
    with pytest.raises(DataError, match=r"bomb: unpacks to more than .*; unpack it first"):
        read_content(tmp_path / "bomb")


def test_a_plain_file_above_the_limit_is_read_where_memory_has_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "table.csv").write_bytes(b"x" * 100)
    monkeypatch.setattr(compressed, "MAX_BYTES", 99)
    assert read_content(tmp_path / "table.csv") == b"x" * 100
    monkeypatch.setattr(compressed, "available_memory", lambda: 599)
    with pytest.raises(ResourceError, match=r"table\.csv: has 100 bytes.*takes about 600 .*convert FOLDER .* --mapped"):
        read_content(tmp_path / "table.csv")


def test_a_table_larger_than_memory_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "table.csv").open("wb") as stream:
        stream.truncate(3 * 2**30)  # takes no room on the disk
    monkeypatch.setattr(compressed, "available_memory", lambda: 2**30)
    with pytest.raises(ResourceError, match=r"3,221,225,472 bytes"):
        read_content(tmp_path / "table.csv")


@packers
@pytest.mark.parametrize("padding", [b"", bytes(8)], ids=["", "zeros between"])
def test_all_streams_of_a_file_are_read(tmp_path: Path, pack: Pack, padding: bytes) -> None:
    (tmp_path / "table").write_bytes(pack(b"source,") + padding + pack(b"target\n") + padding)
    assert read_content(tmp_path / "table") == b"source,target\n"


@packers
def test_what_follows_a_stream_and_is_none_is_no_silent_loss(tmp_path: Path, pack: Pack) -> None:
    """A second part that was damaged at its beginning would otherwise be left out."""
    for rest in (b"x", b"source,target", b"\0x", pack(b"more")[1:]):
        (tmp_path / "table").write_bytes(pack(b"source,target\n") + rest)
        with pytest.raises(DataError, match=r"table: the compressed file is (damaged|truncated)"):
            read_content(tmp_path / "table")


def test_an_xz_file_that_asks_for_much_memory_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 2**29}]
    (tmp_path / "table").write_bytes(lzma.compress(b"x", filters=filters))
    with pytest.raises(DataError, match=r"the compressed file is damaged \(Memory usage limit"):
        read_content(tmp_path / "table")


@packers
def test_a_long_content_comes_out_whole(tmp_path: Path, pack: Pack) -> None:
    content = bytes(range(256)) * (compressed.CHUNK_BYTES // 100)
    (tmp_path / "table").write_bytes(pack(content))
    assert read_content(tmp_path / "table") == content
