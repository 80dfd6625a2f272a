"""Planetoid files (Yang, Cohen, Salakhutdinov 2016): ``ind.<name>.x``, ``y``, ``tx``, ... -> Graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.format import FileFormat, FileRequest
from confgcn.data.formats.planetoid_pickle import read_limited, read_pickle
from confgcn.data.formats.table import TABLE_SUFFIXES
from confgcn.data.input_files import find_file, naming, unchanged
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import CorruptFileError, DataError, ResourceError
from confgcn.graph import Graph
from confgcn.graph.validation import IntArray

SUFFIXES = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
VALIDATION_SIZE = 500  # Kipf and Welling 2017: the 500 nodes after the training nodes


def read_planetoid(folder: Path, name: str, *, validation_size: int = VALIDATION_SIZE) -> Graph:
    """Read a planetoid data set with its public split.

    ``allx`` holds the first nodes, ``tx`` the test nodes in the order of ``test.index``. Numbers in the range of
    the test nodes that ``test.index`` leaves out (15 in Citeseer) are nodes without features and label.
    """
    contents = {suffix: _read_file(folder / f"ind.{name}.{suffix}") for suffix in SUFFIXES[:-1]}
    test = _read_test_index(folder / f"ind.{name}.test.index")
    _check_agreement(folder, contents, test)
    _, y, tx, ty, allx, ally, neighbours = contents.values()  # x and y are the first rows of allx and ally
    positions = np.concatenate([np.arange(allx.shape[0]), test])
    num_nodes = int(max(positions.max(), max(neighbours, default=0))) + 1
    if num_nodes > 2 * len(positions):
        raise CorruptFileError(f"{folder}: node {num_nodes - 1} is named, but only {len(positions)} have features")
    labelled = len(y)
    return Graph.build(
        _edges(folder / f"ind.{name}.graph", neighbours, num_nodes),
        _place_rows(sp.vstack([allx, tx]).tocsr(), positions, num_nodes),
        _labels(np.concatenate([ally, ty]), positions, num_nodes),
        train=np.arange(labelled),
        validation=np.arange(labelled, min(labelled + validation_size, allx.shape[0])),
        test=test,
        class_names=[str(c) for c in range(ally.shape[1])],
        name=name,
    )


def _read_file(path: Path) -> Any:
    """Features as a matrix, labels as an array, the graph as a dictionary, by the name of the file."""
    expected = {"x": sp.csr_matrix, "y": np.ndarray, "h": dict}[path.name[-1]]
    content = read_pickle(path)
    if not isinstance(content, expected):
        raise CorruptFileError(f"{path}: expected a {expected.__name__}, got a {type(content).__name__}")
    if expected is np.ndarray:
        _check_one_hot(path, content)
    elif expected is dict:
        _check_neighbours(path, content)
    return content


def _check_one_hot(path: Path, labels: npt.NDArray[Any]) -> None:
    if labels.ndim != 2 or not labels.shape[1]:
        raise CorruptFileError(f"{path}: expected a row per node and a column per class, got the shape {labels.shape}")
    is_other = (labels != 0) & (labels != 1)
    if is_other.any():
        row, column = np.argwhere(is_other)[0].tolist()
        raise CorruptFileError(f"{path}: row {row}, column {column} is {labels[row, column]}, expected 0 or 1")
    counts = labels.sum(1)
    if (counts > 1).any():
        row = int(np.argmax(counts > 1))
        raise CorruptFileError(f"{path}: row {row} has {int(counts[row])} classes, expected one at most")


def _check_neighbours(path: Path, neighbours: dict[Any, Any]) -> None:
    named = sum(len(others) for others in neighbours.values() if isinstance(others, list))
    if named > path.stat().st_size:  # a pickle can refer to one long list many times
        raise CorruptFileError(f"{path}: names {named:,} neighbours, more than a file of its size can hold")
    for node, others in neighbours.items():
        for number in [node, *others] if isinstance(others, list) else [others]:
            if type(number) is not int or not isinstance(others, list) or number < 0:
                shown = f"node {number}" if type(number) is int else f"a {type(number).__name__}"
                raise CorruptFileError(
                    f"{path}: {str(node)[:50]!r} names {shown}, expected a list of whole numbers from 0 on"
                )


def _read_test_index(path: Path) -> IntArray:
    try:
        test = np.array(read_limited(path).decode().split(), dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise CorruptFileError(f"{path}: expected one node number per line ({error})") from None
    if (test < 0).any():
        raise CorruptFileError(f"{path}: node numbers must not be negative, got {test.min()}")
    if len(np.unique(test)) != len(test):
        raise CorruptFileError(f"{path}: a node number is listed twice")
    return test


def _check_agreement(folder: Path, contents: dict[str, Any], test: IntArray) -> None:
    """Files that describe the same nodes must have the same number of rows, or columns."""
    sizes = {
        "rows of tx and numbers in test.index": (contents["tx"].shape[0], len(test)),
        "rows of x and y": (contents["x"].shape[0], len(contents["y"])),
        "rows of tx and ty": (contents["tx"].shape[0], len(contents["ty"])),
        "rows of allx and ally": (contents["allx"].shape[0], len(contents["ally"])),
        "columns of allx and tx": (contents["allx"].shape[1], contents["tx"].shape[1]),
        "classes of ally and ty": (contents["ally"].shape[-1], contents["ty"].shape[-1]),
    }
    for what, (first, second) in sizes.items():
        if first != second:
            raise CorruptFileError(f"{folder}: {what} differ, {first} and {second}")
    rows = contents["allx"].shape[0]
    if not rows or not len(test) or test.min() < rows:
        raise CorruptFileError(f"{folder}: allx has {rows} rows, test.index must name nodes from {rows} on")
    if not np.array_equal(contents["y"], contents["ally"][: len(contents["y"])]):
        raise CorruptFileError(f"{folder}: y does not hold the first rows of ally")
    if not _are_equal(contents["x"], contents["allx"][: len(contents["y"])]):
        raise CorruptFileError(f"{folder}: x does not hold the first rows of allx")


def _are_equal(first: sp.csr_matrix, second: sp.csr_matrix) -> bool:
    """Entry by entry; NaN equals NaN here, because non-finite features are refused elsewhere."""
    one, other = first.copy(), second.copy()
    for matrix in (one, other):
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    pairs = ((getattr(one, key), getattr(other, key)) for key in ("indptr", "indices", "data"))
    return one.shape == other.shape and all(np.array_equal(*pair, equal_nan=True) for pair in pairs)


def _edges(path: Path, neighbours: dict[int, list[int]], num_nodes: int) -> IntArray:
    pairs = [(source, target) for source, targets in neighbours.items() for target in targets]
    for source, target in pairs:
        if target >= num_nodes:
            raise CorruptFileError(f"{path}: node {source} names node {target}, but the last is {num_nodes - 1}")
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def _place_rows(rows: sp.csr_matrix, positions: IntArray, num_nodes: int) -> sp.csr_matrix:
    ones = np.ones(len(positions), dtype=np.float32)
    placement = sp.csr_matrix((ones, (positions, np.arange(len(positions)))), shape=(num_nodes, len(positions)))
    return (placement @ rows).tocsr()


def _labels(one_hot: npt.NDArray[Any], positions: IntArray, num_nodes: int) -> IntArray:
    labels = np.full(num_nodes, -1, dtype=np.int64)
    labels[positions] = np.where(one_hot.sum(1) == 1, one_hot.argmax(1), -1)
    return labels


def _read(request: FileRequest) -> RawGraph:
    prefix = _prefix(request.path)
    assert prefix is not None  # the format was recognised by it
    files = {suffix: prefix.with_name(f"{prefix.name}.{suffix}") for suffix in SUFFIXES}
    missing = [suffix for suffix, path in files.items() if not path.exists()]
    if missing:
        raise ResourceError(f"{prefix.absolute()}: the files with the suffixes {', '.join(missing)} are missing")
    with unchanged(files.values()), naming(prefix):
        return raw_from_graph(read_planetoid(prefix.parent, prefix.name.removeprefix("ind.")))


def _prefix(path: Path) -> Path | None:
    """The path that planetoid files have in common, if these are such files."""
    if not path.is_dir():
        return path if path.name.startswith("ind.") and path.with_name(f"{path.name}.graph").exists() else None
    names = sorted(file.name.removesuffix(".graph") for file in path.glob("ind.*.graph"))
    if not names or find_file(path, "edges", TABLE_SUFFIXES):
        return None
    if len(names) > 1:
        raise DataError(f"{path}: holds several graphs; name one: {' or '.join(str(path / name) for name in names)}")
    return path / names[0]


FORMAT = FileFormat("planetoid", "planetoid files ind.NAME.*", (), lambda path: _prefix(path) is not None, _read)
