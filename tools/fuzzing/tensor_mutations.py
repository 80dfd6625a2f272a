"""Damage inside safetensors files, Parquet files and old pickles."""

from __future__ import annotations

import io
import json
import pickle
import pickletools
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from fuzzing.byte_mutations import EXTREMES, NUMBERS, TOKENS, damaged
from fuzzing.canaries import canaries
from fuzzing.text_mutations import damaged_json

GLOBALS = (
    "os system",
    "builtins eval",
    "numpy ndarray",
    "numpy dtype",
    "builtins list",
    "collections defaultdict",
    "a b",
)


def damaged_safetensors(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The length of the header, the header, or the numbers."""
    (size,) = struct.unpack("<Q", content[:8])
    header, numbers = content[8 : 8 + size], content[8 + size :]
    kind = random.randrange(4)
    if kind == 0:
        return struct.pack("<Q", random.choice((*EXTREMES, size + 1, size - 1, len(content))) % 2**64) + content[8:]
    if kind == 1:
        return content[: 8 + size] + damaged(numbers, random, [other[8:] for other in others])
    header = _retyped(header, random) if kind == 2 else damaged_json(header, random, others)
    return struct.pack("<Q", len(header)) + header + numbers


def _retyped(header: bytes, random: Random) -> bytes:
    """The same bytes as a tensor of another type and shape."""
    described: dict[str, Any] = json.loads(header)
    name = random.choice([key for key in described if key != "__metadata__"])
    start, end = described[name]["data_offsets"]
    kind, size = random.choice(
        (("F64", 8), ("I64", 8), ("I32", 4), ("F16", 2), ("BF16", 2), ("U8", 1), ("BOOL", 1), ("F32", 4))
    )
    described[name] |= {"dtype": kind, "shape": random.choice(([(end - start) // size], [1, (end - start) // size]))}
    return json.dumps(described).encode()


def damaged_parquet(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The bytes, the footer alone, or a valid file with a column of another kind."""
    kind = random.randrange(3)
    if kind == 0 or len(content) < 12:
        return damaged(content, random, others)
    if kind == 1:
        size = min(int.from_bytes(content[-8:-4], "little"), len(content) - 8)
        footer = damaged(content[-8 - size : -8], random, others)
        return content[: -8 - size] + footer + struct.pack("<I", len(footer)) + content[-4:]
    return _with_odd_column(content, random)


def _with_odd_column(content: bytes, random: Random) -> bytes:
    try:
        table = pyarrow.parquet.ParquetFile(io.BytesIO(content)).read(use_threads=False)
    except Exception:  # a file that was damaged before
        return content[:-1]
    columns, names = list(table.columns), list(table.column_names)
    place = random.randrange(len(columns))
    if random.random() < 0.3:
        names[place] = random.choice((*names, "", "x" * 5000, "a\nb", "\u202e", "id", "label", "split", "y"))
    else:
        columns[place] = _odd_column(random, len(table))
    stream = io.BytesIO()
    compression = random.choice(("none", "snappy", "gzip", "zstd"))
    pyarrow.parquet.write_table(pyarrow.table(columns, names=names), stream, compression=compression)
    return stream.getvalue()


def _odd_column(random: Random, rows: int) -> Any:
    values: Any = random.choice(
        (
            [None] * rows,
            [random.choice(NUMBERS) for _ in range(rows)],
            [random.choice((2**63 - 1, -1, 0, None)) for _ in range(rows)],
            [random.choice((float("nan"), float("inf"), 1e308, 0.0)) for _ in range(rows)],
            [[1, 2]] * rows,
            [{"a": 1}] * rows,
            [b"\xff\xfe"] * rows,
            [random.choice((True, False, None)) for _ in range(rows)],
            np.arange(rows).astype("M8[s]"),
            np.arange(rows, dtype=np.float16),
            np.arange(rows, dtype=np.uint8),
            ["x" * 5000] * rows,
            ["a\nb", "\x1b[2J", "", " "] * (rows // 4) + ["a"] * (rows % 4),
        )
    )
    column = pyarrow.array(values)
    is_plain = not pyarrow.types.is_nested(column.type) and not pyarrow.types.is_null(column.type)
    return column.dictionary_encode() if is_plain and random.random() < 0.2 else column


def damaged_pickle(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """An operation is changed, taken out or doubled; or a valid pickle of something else."""
    if random.random() < 0.2:
        return _odd_pickle(random)
    try:
        operations = [(operation, place) for operation, _, place in pickletools.genops(content)]
    except ValueError:  # a pickle that was damaged before
        return damaged(content, random, others)
    number = random.randrange(len(operations))
    start = operations[number][1] or 0
    end = operations[number + 1][1] or 0 if number + 1 < len(operations) else len(content)
    module, _, name = random.choice(GLOBALS).partition(" ")
    fresh = random.choice(
        (
            b"",
            content[start:end] * 2,
            b"I%d\n" % random.choice(EXTREMES),
            b"L" + random.choice(NUMBERS).encode() + b"L\n",
            f"c{module}\n{name}\n".encode(),
            b"U" + bytes([len(word := random.choice(TOKENS)[:200])]) + word,
            damaged(content[start:end], random, others),
            random.choice((b"N", b"}", b"]", b")", b"(", b"R", b"b", b"0", b"2", b"G" + b"\x7f\xf8" + bytes(6), b".")),
        )
    )
    return content[:start] + fresh + content[end:]


def _odd_pickle(random: Random) -> bytes:
    """A valid one, but of something that the reader does not expect, or that would execute code."""
    values: tuple[Any, ...] = (
        *(
            None,
            1,
            "a",
            [1, 2],
            {},
            {0: [1]},
            {"a": ["b"]},
            {0: 1},
            {0: None},
            {2**70: [0]},
            {-1: [0]},
            {0: ["1"], 1: [2.5]},
        ),
        *(
            np.zeros((3, 2)),
            np.zeros(0),
            np.full((4, 2), np.nan),
            np.array(["a"]),
            np.zeros((2, 2), dtype="M8[s]"),
            {0: [[1]]},
        ),
        *(
            {0: [2**63]},
            {0.5: [1]},
            {(1, 2): [1]},
            {True: [False]},
            {0: {1: 2}},
            {0: "12"},
            np.zeros((2, 2, 2)),
            np.float64(3),
        ),
    )
    kinds = [pickle.dumps(random.choice(values), protocol) for protocol in (0, 2, 4)]
    return random.choice((*kinds, canaries()[f"pickle{random.choice((0, 2, 4, 5))}"]))
