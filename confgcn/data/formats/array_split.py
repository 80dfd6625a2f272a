"""The split of a folder of arrays: a code for every node, or the positions of the nodes of each part."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from confgcn.data.formats.npy import map_npy
from confgcn.data.input_files import naming
from confgcn.data.raw import PARTS
from confgcn.exceptions import DataError
from confgcn.graph import validation as checks
from confgcn.graph.validation import IntArray

SPLIT, PART_FILES = "split.npy", tuple(f"{part}.npy" for part in PARTS)


def read_parts(folder: Path, labels: IntArray) -> dict[str, IntArray]:
    """The positions of the nodes of each part; without a split every labelled node is trained on."""
    positions = {part: folder / file for part, file in zip(PARTS, PART_FILES, strict=True)}
    given = [file.name for file in positions.values() if file.exists()]
    if (folder / SPLIT).exists():
        if given:
            raise DataError(f"{folder}: is the split in {SPLIT} or in {', '.join(given)}? Remove the other")
        return _by_code(folder / SPLIT, labels)
    if not given:
        return {"train": np.flatnonzero(labels >= 0), **{part: _nobody() for part in PARTS[1:]}}
    found = {part: _by_position(file, part, labels) for part, file in positions.items()}
    with naming(folder):
        checks.check_disjoint(found)
    return found


def _by_code(file: Path, labels: IntArray) -> dict[str, IntArray]:
    codes = map_npy(file)
    if codes.shape != labels.shape or codes.dtype.kind not in "iu":
        wanted = f"one whole number per node, shape {labels.shape}"
        raise DataError(f"{file}: expected {wanted}, got {codes.dtype} {codes.shape}")
    wrong = (codes < 0) | (codes > len(PARTS))
    meaning = dict(enumerate(PARTS, start=1))
    if wrong.any():
        node, known = int(np.argmax(wrong)), ", ".join(f"{code} for {part}" for code, part in meaning.items())
        raise DataError(f"{file}: node {node} has {codes[node]}, expected 0 for none, {known}")
    with naming(file):
        places = {part: np.flatnonzero(codes == code) for code, part in meaning.items()}
        return {part: checks.checked_split(positions, part, labels) for part, positions in places.items()}


def _by_position(file: Path, part: str, labels: IntArray) -> IntArray:
    if not file.exists():
        return _nobody()
    with naming(file):
        return checks.checked_split(np.array(map_npy(file)), part, labels)


def _nobody() -> IntArray:
    return np.empty(0, dtype=np.int64)
