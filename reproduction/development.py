"""Graphs in the development format: one folder each, with several splits.

A folder holds ``edges.npy`` (M, 2), each undirected edge once; ``labels.npy`` (N,); ``features.npz``, a scipy sparse
matrix; and ``splits.npy`` (S, N) with 0 for unused nodes, 1 for training, 2 for validation and 3 for test.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from confgcn.data.downloads import DATA_VARIABLE
from confgcn.data.raw import SPARSE_BELOW
from confgcn.exceptions import DataError, UsageError, brief
from confgcn.graph import Graph

FOLDER = "development"
FILES = ("edges.npy", "labels.npy", "features.npz", "splits.npy")
TRAIN, VALIDATION, TEST = 1, 2, 3
FIRST = ("amazon_photo", "blogcatalog", "minesweeper", "tolokers", "actor")  # their order in tables; others follow


def development_folder(given: Path | None) -> Path | None:
    """The given folder, else ``development`` in ``$CONFGCN_DATA``; None where there is none."""
    if given is not None:
        if not given.is_dir():
            raise UsageError(
                f"{given}: is not a folder; --development takes the folder that holds one folder per graph"
            )
        return given
    data_dir = os.environ.get(DATA_VARIABLE)
    found = Path(data_dir) / FOLDER if data_dir else None
    return found if found is not None and found.is_dir() else None


def development_graphs(given: Path | None) -> dict[str, Path]:
    """The folder of every graph, by name."""
    folder = development_folder(given)
    if folder is None:
        return {}
    found = {path.name: path for path in folder.iterdir() if all((path / file).is_file() for file in FILES)}
    return {name: found[name] for name in sorted(found, key=table_order)}


def table_order(name: str) -> tuple[int, str]:
    """Sorts names of graphs as tables show them."""
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def design_splits(folder: Path) -> range:
    """The first half of the splits: for choosing settings."""
    return range(_num_splits(folder) // 2)


def report_splits(folder: Path) -> range:
    """The second half of the splits: for tables of results."""
    return range(_num_splits(folder) // 2, _num_splits(folder))


def load_development_graph(folder: Path, split: int) -> Graph:
    """The graph of a folder with one of its splits."""
    edges, labels, features, splits = _read(folder)
    if not 0 <= split < len(splits):
        raise UsageError(f"{folder}: has splits 0 to {len(splits) - 1}, not {split}")
    chosen = splits[split]
    return Graph.build(
        edges,
        features,
        labels,
        train=np.flatnonzero(chosen == TRAIN),
        validation=np.flatnonzero(chosen == VALIDATION),
        test=np.flatnonzero(chosen == TEST),
        name=folder.name,
    )


def _num_splits(folder: Path) -> int:
    return len(_load(folder / "splits.npy", lambda path: np.load(path, mmap_mode="r", allow_pickle=False)))


@lru_cache(maxsize=1)  # all splits of a graph share its arrays
def _read(folder: Path) -> tuple[Any, Any, Any, Any]:
    readers = {".npy": lambda path: np.load(path, allow_pickle=False), ".npz": sp.load_npz}
    edges, labels, features, splits = (_load(folder / file, readers[Path(file).suffix]) for file in FILES)
    if splits.ndim != 2 or splits.shape[1] != len(labels):
        raise DataError(f"{folder / 'splits.npy'}: expected (splits, {len(labels)} nodes), found {splits.shape}")
    is_sparse = features.nnz < SPARSE_BELOW * features.shape[0] * features.shape[1]  # as for files of a user
    return edges, labels, features if is_sparse else features.toarray(), splits


def _load(path: Path, read: Callable[[Path], Any]) -> Any:
    try:
        return read(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({brief(error)}); expected the development format") from None
