"""A graph of eleven nodes as a folder of arrays, and mapped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confgcn.data.formats.arrays import ArrayFolder, arrays_of_folder
from confgcn.data.formats.store_writing import GraphArrays, write_store


@pytest.fixture
def array_folder(tmp_path: Path) -> Path:
    """Eleven nodes as arrays, whose names are not in their natural order."""
    made, random = tmp_path / "arrays", np.random.default_rng(3)
    made.mkdir()
    labels = random.integers(-1, 3, 11)
    np.save(made / "edges.npy", random.integers(0, 11, (30, 2)))
    np.save(made / "features.npy", random.normal(size=(11, 4)))
    np.save(made / "labels.npy", labels)
    np.save(made / "split.npy", np.where(labels < 0, 0, np.arange(11) % 4).astype(np.int8))
    (made / "nodes.txt").write_text("".join(f"n{number}\n" for number in random.permutation(11)))
    return made


@pytest.fixture
def arrays(array_folder: Path) -> GraphArrays:
    return arrays_of_folder(ArrayFolder(array_folder))


@pytest.fixture
def store(arrays: GraphArrays, tmp_path: Path) -> Path:
    return write_store(arrays, tmp_path / "store")
