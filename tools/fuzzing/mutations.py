"""Damage to a file, to its bytes or inside its format, which is recognised by its first bytes."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Sequence
from random import Random

from fuzzing.archive_mutations import MAGIC as NPY
from fuzzing.archive_mutations import damaged_npy, damaged_zip
from fuzzing.byte_mutations import Damage, damaged
from fuzzing.tensor_mutations import damaged_parquet, damaged_pickle, damaged_safetensors
from fuzzing.text_mutations import damaged_json, damaged_json_lines, damaged_table

ON_BYTES = 0.3  # share of the cases that do not care for the format
COMPRESSED: dict[bytes, tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]] = {
    b"\x1f\x8b": (gzip.decompress, lambda content: gzip.compress(content, 1, mtime=0)),
    b"BZh": (bz2.decompress, lambda content: bz2.compress(content, 1)),
    b"\xfd7zXZ": (lzma.decompress, lambda content: lzma.compress(content, preset=0)),
}


def mutated(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The same random numbers give the same bytes; ``others`` are valid files that may be mixed in."""
    if random.random() < ON_BYTES:
        return damaged(content, random, others)
    for magic, (unpack, pack) in COMPRESSED.items():
        if content.startswith(magic):
            return pack(mutated(unpack(content), random, []))
    for is_of_format, damage in FORMATS:
        if is_of_format(content):
            return damage(content, random, others)
    return damaged(content, random, others)


def packed_like(valid: bytes, content: bytes) -> bytes:
    """Compressed where the valid file is."""
    return next((pack(content) for magic, (_, pack) in COMPRESSED.items() if valid.startswith(magic)), content)


def _is_safetensors(content: bytes) -> bool:
    return content[8:10] == b'{"' and int.from_bytes(content[:8], "little") < len(content)


def _is_json_lines(content: bytes) -> bool:
    first, _, rest = content.partition(b"\n")
    return first.startswith(b"{") and first.endswith(b"}") and bool(rest)


def _is_table(content: bytes) -> bool:
    header, _, rest = content.partition(b"\n")
    return bool(rest) and any(mark in header for mark in (b",", b"\t", b";")) and not header.startswith(b"<")


def _is_pickle(content: bytes) -> bool:
    return content.endswith(b".") and not content.startswith(b"<")


FORMATS: tuple[tuple[Callable[[bytes], bool], Damage], ...] = (
    (lambda content: content.startswith(b"PK\x03\x04"), damaged_zip),
    (lambda content: content.startswith(NPY), damaged_npy),
    (lambda content: content.startswith(b"PAR1"), damaged_parquet),
    (_is_safetensors, damaged_safetensors),
    (_is_json_lines, damaged_json_lines),
    (lambda content: content.startswith(b"{"), damaged_json),
    (_is_table, damaged_table),
    (_is_pickle, damaged_pickle),
)
