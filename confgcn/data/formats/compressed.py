"""The bytes of a file, plain or compressed; which one its first bytes decide, not its name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from confgcn.data.formats.array_files import EXPANSION_FREE_BYTES, MAX_BYTES, MAX_EXPANSION
from confgcn.data.input_files import naming
from confgcn.exceptions import DataError, ResourceError
from confgcn.io.memory import available_memory

CHUNK_BYTES = 2**20
MAX_DICTIONARY_BYTES = 2**28  # of an xz file, whose header gives the memory that is needed

Chunks = Iterator[bytes]


def read_content(path: Path, *, memory_per_byte: int = 6) -> bytes:
    """The content of a file, unpacked if it is a gz, bz2 or xz file.

    A compressed file has a limit, because it can expand to any size. A plain file above ``MAX_BYTES`` is read where
    memory has room for ``memory_per_byte`` bytes for each of the file.
    """
    with naming(path), path.open("rb") as stream:
        head = stream.peek(16)
        unpack = next((unpack for magic, unpack in _UNPACKERS.items() if magic.match(head)), None)
        stored = os.fstat(stream.fileno()).st_size
        if unpack is None:
            _check_room(path, stored, memory_per_byte)
            return stream.read()
        return _unpacked(path, unpack(stream), min(MAX_BYTES, max(EXPANSION_FREE_BYTES, MAX_EXPANSION * stored)))


def _check_room(path: Path, size: int, memory_per_byte: int) -> None:
    needed = size * memory_per_byte
    if size > MAX_BYTES and needed > available_memory():
        raise ResourceError(
            f"{path.absolute()}: has {size:,} bytes, and reading it takes about {needed:,} bytes of memory, more than "
            "are free here; a graph of any size can be given as a folder of arrays (edges.npy, labels.npy, "
            "features.npy) and trained after confgcn convert FOLDER --out OTHER --mapped"
        )


def _unpacked(path: Path, chunks: Chunks, most: int) -> bytes:
    try:
        return _joined(path, chunks, most)
    except EOFError:
        raise DataError(f"{path}: the compressed file is truncated; copy or download it again") from None
    except (zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's error, not the file's
            raise
        raise DataError(f"{path}: the compressed file is damaged ({error}); copy or download it again") from None


def _joined(path: Path, chunks: Chunks, most: int) -> bytes:
    kept, size = [], 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            raise DataError(
                f"{path}: unpacks to more than {most:,} bytes, the limit for a compressed file; unpack it first"
            )
        kept.append(chunk)
    return b"".join(kept)


def _chunks(stream: IO[bytes] | gzip.GzipFile) -> Chunks:
    while chunk := stream.read(CHUNK_BYTES):
        yield chunk


def _gunzip(stream: IO[bytes]) -> Chunks:
    with gzip.open(stream) as unpacked:
        yield from _chunks(unpacked)


def _unpack_all(decompressor: Callable[[], Any], stream: IO[bytes]) -> Chunks:
    """Every stream in a bz2 or xz file; Python's own readers leave out what follows a stream and is none itself."""
    packed = b""
    while packed := _after_padding(packed, stream):
        unpacker = decompressor()
        while not unpacker.eof:
            yield unpacker.decompress(packed, CHUNK_BYTES)
            packed = stream.read(CHUNK_BYTES) if unpacker.needs_input else b""
            if unpacker.needs_input and not packed:
                raise EOFError
        packed = unpacker.unused_data


def _after_padding(packed: bytes, stream: IO[bytes]) -> bytes:
    """The first bytes other than zero, here or in the rest of the file; nothing at its end."""
    while not (packed := packed.lstrip(b"\0")):
        packed = stream.read(CHUNK_BYTES)
        if not packed:
            break
    return packed


_new_xz = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=MAX_DICTIONARY_BYTES)
_UNPACKERS: dict[re.Pattern[bytes], Callable[[IO[bytes]], Chunks]] = {
    re.compile(rb"\x1f\x8b"): _gunzip,
    re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90|.{0,5}\Z)", re.DOTALL): partial(_unpack_all, bz2.BZ2Decompressor),
    re.compile(rb"\xfd7zXZ\x00"): partial(_unpack_all, _new_xz),
}
