"""Checks of the arrays of a graph: each returns the array in canonical form, or raises an error naming the fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from confgcn.exceptions import DataError
from confgcn.sparse import SparseMatrix, SparseStructure

IntArray = npt.NDArray[np.int64]
MAX_CLASSES = 1_000_000  # every class has a name in memory
MAX_NODES = 100_000_000  # every node has a name in memory
FLOAT32_MAX = float(np.finfo(np.float32).max)
LONGEST_SHOWN = 60  # characters of a name in a message


def shown(text: str) -> str:
    """A name or an id as messages show it: a long one is cut short."""
    return repr(text) if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]!r}... ({len(text):,} characters)"


def as_array(values: Any, name: str) -> npt.NDArray[Any]:
    """Anything array-like as a numpy array."""
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(f"{name}: a masked array would lose its mask; fill it first")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as error:
        raise DataError(f"{name}: expected an array; do all rows have the same length? ({error})") from None


def check_num_nodes(count: int) -> None:
    """Refuse a wrong number of nodes before any array of that length is allocated."""
    if not 0 <= count <= MAX_NODES:
        raise DataError(f"number of nodes: expected 0 to {MAX_NODES:,}, got {count:,}")


def checked_edges(edges: Any, num_nodes: int, *, first_row: int | None = None) -> IntArray:
    """Edges as (M, 2) integers, the positions of nodes; ``first_row`` is the position of a block among all rows."""
    pairs = as_array(edges, "edges")
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise DataError(f"edges: expected an array of shape (edges, 2), got {pairs.shape}")
    if pairs.dtype.kind not in "iu":
        raise DataError(
            f"edges: expected whole numbers, the positions of nodes, got {pairs.dtype}; "
            "put the nodes' names in node_names and name edges by position in it"
        )
    outside = (pairs < 0) | (pairs >= num_nodes)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise DataError(
            f"edges: row {row + (first_row or 0)} names node {pairs[row, column]}, but nodes are numbered 0 to "
            f"{num_nodes - 1} ({int(outside.any(1).sum())} such rows{_among(first_row, len(pairs))})"
        )
    return pairs.astype(np.int64)


def checked_edge_weights(weights: Any, num_edges: int) -> npt.NDArray[np.float32]:
    """Weights (M,) of the listed edges: finite, not negative."""
    array = as_array(weights, "edge_weight")
    if array.shape != (num_edges,):
        raise DataError(f"edge_weight: expected one per listed edge, shape ({num_edges},), got {array.shape}")
    if array.dtype.kind not in "biuf":
        raise DataError(f"edge_weight: expected numbers, got {array.dtype}")
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite, which is refused
        narrow = array.astype(np.float32)
    wrong = ~np.isfinite(narrow) | (narrow < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"edge_weight: row {row} is {array[row]}, expected a finite number of zero or more "
            f"({int(wrong.sum())} such rows)"
        )
    return narrow


def checked_feature_block(block: npt.NDArray[Any], first_row: int) -> npt.NDArray[np.float32]:
    """Some rows of dense features as finite float32."""
    among = _among(first_row, len(block))
    return _checked_values(block, lambda place: (place // block.shape[1] + first_row, place % block.shape[1]), among)


def checked_features(features: Any, num_nodes: int) -> torch.Tensor | SparseMatrix:
    """Features as finite float32, (N, F); scipy sparse matrices stay sparse."""
    if hasattr(features, "tocsr"):
        return _checked_sparse(features, num_nodes)
    array = as_array(features, "features")
    check_feature_shape(array.shape, num_nodes)
    return torch.from_numpy(_checked_values(array, lambda place: np.unravel_index(place, array.shape)))


def checked_labels(labels: Any, num_nodes: int, num_classes: int | None) -> IntArray:
    """Labels as integers from 0; -1 is unknown."""
    array = as_array(labels, "labels")
    if array.shape != (num_nodes,):
        raise DataError(f"labels: expected one per node, shape ({num_nodes},), got {array.shape}")
    if array.dtype.kind not in "iu":
        raise DataError(
            f"labels: expected whole numbers (class 0, 1, ...; -1 for unknown), got {array.dtype}; "
            "pass names of classes as class_names"
        )
    limit = MAX_CLASSES if num_classes is None else num_classes
    wrong = (array < -1) | (array >= limit)
    if wrong.any():
        node = int(np.argmax(wrong))
        raise DataError(f"labels: node {node} has label {array[node]}, expected 0 to {limit - 1}, or -1 for unknown")
    return array.astype(np.int64)


def checked_split(nodes: Any, name: str, labels: IntArray) -> IntArray:
    """The nodes of one split, given as a mask (N,) or as positions: sorted, distinct, all labelled."""
    array = as_array(nodes, name)
    if array.dtype == bool:
        if array.shape != labels.shape:
            raise DataError(f"{name} mask: expected shape {labels.shape}, got {array.shape}")
        if not array.any():
            raise DataError(f"{name} mask: selects no node")
        array = np.flatnonzero(array)
    if array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise DataError(f"{name}: expected a mask or positions of nodes, got {array.dtype} {array.shape}")
    if array.min() < 0 or array.max() >= len(labels):
        raise DataError(f"{name}: positions must be from 0 to {len(labels) - 1}, got {array.min()} to {array.max()}")
    positions = np.unique(array).astype(np.int64)
    if len(positions) < len(array):
        raise DataError(f"{name}: a position occurs twice; if this is a mask, pass it with dtype bool")
    unlabelled = positions[labels[positions] < 0]
    if unlabelled.size:
        raise DataError(f"{name}: {unlabelled.size} nodes have no label, the first is node {unlabelled[0]}")
    return positions


def check_disjoint(splits: dict[str, IntArray]) -> None:
    """No node is in two splits: held-out labels would be trained on."""
    names = list(splits)
    for i, first in enumerate(names):
        for second in names[i + 1 :]:
            shared = np.intersect1d(splits[first], splits[second])
            if shared.size:
                raise DataError(
                    f"{first} and {second} share {shared.size} nodes "
                    f"(for example {', '.join(map(str, shared[:3]))}): the split leaks"
                )


def checked_names(names: Sequence[str] | None, kind: str, count: int) -> tuple[str, ...]:
    """Distinct names; numbers where none are given."""
    if names is None:
        return tuple(str(i) for i in range(count))
    texts = tuple(str(name) for name in names)
    if len(texts) != count:
        raise DataError(f"{kind} names: expected {count}, got {len(texts)}")
    if len(set(texts)) != count:
        twice = next(name for name, times in Counter(texts).items() if times > 1)
        raise DataError(f"{kind} names: {shown(twice)} occurs twice")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{kind} names: {error.object[error.start]!r} cannot be written as UTF-8") from None
    return texts


def _checked_sparse(given: Any, num_nodes: int) -> SparseMatrix:
    check_feature_shape(given.shape, num_nodes)
    check_number_kind(given.dtype)
    check_stored_indices(given)
    matrix = given.astype(np.float64).tocsr()
    check_csr("features", matrix.indptr, matrix.indices, matrix.data, matrix.shape)
    _checked_values(matrix.data, partial(_sparse_place, matrix))
    matrix.sum_duplicates()
    values = _checked_values(matrix.data, partial(_sparse_place, matrix))  # sums of duplicates can overflow
    structure = SparseStructure(
        torch.from_numpy(matrix.indptr.astype(np.int64)),
        torch.from_numpy(matrix.indices.astype(np.int64)),
        (matrix.shape[0], matrix.shape[1]),
    )
    return SparseMatrix(structure, torch.from_numpy(values))


def native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers in a dtype that scipy accepts: native byte order, float16 as float32."""
    ordered = array.astype(array.dtype.newbyteorder("="), copy=False)
    return ordered.astype(np.float32) if ordered.dtype == np.float16 else ordered


def checked_csr(matrix: Any) -> Any:
    """A sparse matrix by rows. Integers become floats: adding duplicate entries could overflow."""
    check_number_kind(matrix.dtype)
    check_stored_indices(matrix)
    return (matrix if matrix.dtype.kind == "f" else matrix.astype(np.float64)).tocsr()


def check_stored_indices(matrix: Any) -> None:
    """Check the indices before scipy converts a matrix: it does not."""
    rows, columns = matrix.shape
    if matrix.format == "csr":
        check_csr("features", matrix.indptr, matrix.indices, matrix.data, (rows, columns))
    elif matrix.format == "csc":
        check_csr("features", matrix.indptr, matrix.indices, matrix.data, (columns, rows))
    elif matrix.format == "bsr":
        high, wide = matrix.blocksize
        check_csr("features", matrix.indptr, matrix.indices, matrix.data, (rows // high, columns // wide))
    elif matrix.format == "coo":
        ends = np.array([0, len(matrix.row)])
        check_csr("features (rows)", ends, matrix.row, matrix.data, (1, rows))
        check_csr("features", ends, matrix.col, matrix.data, (1, columns))


def check_csr(name: str, indptr: Any, indices: Any, data: Any, shape: tuple[int, ...]) -> None:
    """Row pointers and column indices lie inside the arrays."""
    rows, columns = shape
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise DataError(f"{name}: row pointers and column indices must be integers")
    if rows < 0 or indptr.shape != (rows + 1,) or indptr[0] != 0 or indptr[-1] != len(indices):
        raise DataError(f"{name}: the row pointers do not describe {rows} rows of {len(indices)} entries")
    if (indptr[1:] < indptr[:-1]).any():
        raise DataError(
            f"{name}: the row pointers of {rows} rows decrease in row {int(np.argmax(indptr[1:] < indptr[:-1]))}"
        )
    if len(indices) != len(data):
        raise DataError(f"{name}: {len(indices)} column indices but {len(data)} values")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise DataError(
            f"{name}: column indices must be from 0 to {columns - 1}, got {indices.min()} to {indices.max()}"
        )


def check_feature_shape(shape: tuple[int, ...], num_nodes: int) -> None:
    """One row per node, and at least one column."""
    if len(shape) != 2 or shape[0] != num_nodes or shape[1] == 0:
        raise DataError(f"features: expected shape ({num_nodes}, at least 1), one row per node, got {tuple(shape)}")


def _checked_values(array: npt.NDArray[Any], place: Any, among: str = "") -> npt.NDArray[np.float32]:
    check_number_kind(array.dtype)
    with np.errstate(invalid="ignore"):  # a signalling NaN warns; it is refused below
        wide = array.astype(np.float64)
    wrong = ~np.isfinite(wide) | (np.abs(wide) > FLOAT32_MAX)
    if wrong.any():
        first = int(np.argmax(wrong))
        row, column = place(first)
        raise DataError(
            f"features: row {row}, column {column} is {str(wide.flat[first]).replace('nan', 'NaN')}, "
            f"which is not a finite float32 ({int(wrong.sum())} such values{among})"
        )
    return np.ascontiguousarray(wide, dtype=np.float32)


def _among(first_row: int | None, count: int) -> str:
    """The rows that were counted, where only a block was checked."""
    return "" if first_row is None else f" in rows {first_row} to {first_row + count - 1}"


def check_number_kind(dtype: np.dtype[Any]) -> None:
    """Numbers, and nothing that would have to be converted to them."""
    if dtype.kind not in "biuf":
        raise DataError(f"features: expected numbers, got {dtype}")


def _sparse_place(matrix: Any, entry: int) -> tuple[int, int]:
    return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])
