"""Readers of propagation rows in a folder of mapped arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from confgcn.graph.propagation_rows import PropagationRows
from fuzzing.reader import Reader
from fuzzing.seals import seal_arrays


def row_readers() -> Iterator[Reader]:
    """One for each file of a folder of rows."""
    folder = Path("rows")
    PropagationRows(torch.arange(24, dtype=torch.int32).reshape(8, 3) % 8, torch.rand(8, 3)).write(folder)
    files = {file.name: file.read_bytes() for file in folder.iterdir()}
    for slot in ("arrays.json", "indices.npy", "weights.npy"):
        yield Reader(f"rows/{slot}", _read, {slot: files[slot]}, files, 0.5, seal=seal_arrays)


def _read(folder: Path) -> object:
    """Read every number, as a training does."""
    rows = PropagationRows.read(folder)
    return rows.indices.sum(), rows.weights.sum()
