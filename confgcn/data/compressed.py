"""The bytes of a file, plain or compressed: told by its first bytes, whatever its name, and never more than a cap."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from confgcn.data.npz import MAX_BYTES, MAX_EXPANSION, UNSUSPICIOUS_BYTES
from confgcn.exceptions import DataError

CHUNK_BYTES = 2**20
COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz")

_OPENERS: dict[re.Pattern[bytes], Callable[[Any], Any]] = {
    re.compile(rb"\x1f\x8b"): gzip.open,
    re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"): bz2.open,
    re.compile(rb"\xfd7zXZ\x00"): lzma.open,
}


def read_content(path: Path) -> bytes:
    """What a file holds, unpacked if it is a gz, bz2 or xz file."""
    with path.open("rb") as stream:
        head = stream.peek(16)
        opener = next((opener for magic, opener in _OPENERS.items() if magic.match(head)), None)
        if opener is None:
            return _read_capped(path, stream, MAX_BYTES)
        stored = os.fstat(stream.fileno()).st_size
        return _unpack(path, opener, stream, min(MAX_BYTES, max(UNSUSPICIOUS_BYTES, MAX_EXPANSION * stored)))


def _unpack(path: Path, opener: Callable[[Any], Any], stream: IO[bytes], most: int) -> bytes:
    try:
        with opener(stream) as unpacked:
            return _read_capped(path, unpacked, most)
    except EOFError:
        raise DataError(f"{path}: the compressed file is truncated; copy or download it again") from None
    except (zlib.error, lzma.LZMAError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's error, not the file's
            raise
        raise DataError(f"{path}: the compressed file is damaged ({error}); copy or download it again") from None


def _read_capped(path: Path, stream: IO[bytes], most: int) -> bytes:
    chunks, size = [], 0
    while chunk := stream.read(CHUNK_BYTES):
        size += len(chunk)
        if size > most:
            raise DataError(f"{path}: holds more than {most:,} bytes, which is more than is read from one file")
        chunks.append(chunk)
    return b"".join(chunks)
