"""A matrix of features for tables: .npy, or .npz with a dense or sparse matrix, ids and names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.array_files import CSR_KEYS, MAX_COLUMNS, npz_keys, read_npy, read_npz, sparse_from
from confgcn.data.formats.table import listed, shortened
from confgcn.data.raw import numbered_features
from confgcn.exceptions import DataError
from confgcn.graph import validation as checks
from confgcn.graph.validation import FLOAT32_MAX, shown

MOST_EXAMPLES = 3  # that a message names


@dataclass(frozen=True, eq=False)
class NodeFeatures:
    """A matrix of features, one row per node.

    Attributes:
        path: the file, for messages.
        matrix: (N, F), an array or a scipy csr matrix.
        names: of the columns; None where they are known by their place.
        ids: of the nodes, row by row; None where row i belongs to the node whose id is the whole number i.
    """

    path: Path
    matrix: Any
    names: tuple[str, ...] | None = None
    ids: tuple[str, ...] | None = None

    @property
    def own_ids(self) -> Sequence[str]:
        """The id of the node that each row belongs to."""
        return self.ids if self.ids is not None else [str(row) for row in range(self.matrix.shape[0])]

    @property
    def own_names(self) -> tuple[str, ...]:
        """The name of each column."""
        return self.names or numbered_features(self.matrix.shape[1])

    def of(
        self, ids: Sequence[str], *, impute: bool = False, fills: Mapping[str, float] = MappingProxyType({})
    ) -> tuple[Any, list[str]]:
        """The rows in the order of these ids, and notices for the user.

        ``impute`` fills gaps with the mean of the column, or with its value in ``fills``.
        """
        matrix, notices = _finite(self, impute=impute, fills=fills)
        return matrix[_rows(self, ids)], notices


def read_node_features(path: Path) -> NodeFeatures:
    """The features in a .npy or .npz file."""
    with path.open("rb") as stream:
        is_archive = stream.read(2) == b"PK"
    features = _read_archive(path) if is_archive else NodeFeatures(path, read_npy(path))
    matrix = features.matrix
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"{path}: expected numbers, got {matrix.dtype}")
    if matrix.ndim != 2 or not 0 < matrix.shape[1] <= MAX_COLUMNS:
        raise DataError(
            f"{path}: expected a matrix with a row per node and 1 to {MAX_COLUMNS:,} columns, got {matrix.shape}"
        )
    for kind, texts, count in (("ids", features.ids, 0), ("feature_names", features.names, 1)):
        if texts is not None and len(texts) != matrix.shape[count]:
            raise DataError(f"{path}: {len(texts)} {kind}, but the features have the shape {matrix.shape}")
    return features


def _read_archive(path: Path) -> NodeFeatures:
    found = npz_keys(path)
    given = {key: read_npz(path, [key])[key] for key in ("ids", "feature_names") if key in found}
    texts = {key: _texts(path, key, array) for key, array in given.items()}
    if "features" in found:
        matrix: Any = checks.native(read_npz(path, ["features"])["features"])
    elif set(CSR_KEYS) <= set(found):
        matrix = _read_csr(path, found)
    else:
        raise DataError(
            f"{path}: expected an array features, or the arrays {', '.join(CSR_KEYS)} of a sparse matrix; "
            f"found {listed(found)}"
        )
    return NodeFeatures(path, matrix, texts.get("feature_names"), texts.get("ids"))


def _read_csr(path: Path, found: list[str]) -> sp.csr_matrix:
    arrays = read_npz(path, [*CSR_KEYS, *(["format"] if "format" in found else [])])
    layout = arrays.get("format", np.array(b"csr")).tobytes().replace(b"\0", b"")
    if layout != b"csr":
        stored = shortened(layout.decode(errors="replace"))
        raise DataError(f"{path}: the sparse matrix is stored as {stored}; save it as csr")
    matrix = checks.checked_csr(sparse_from(arrays, "", path))
    matrix.sum_duplicates()
    return matrix


def _texts(path: Path, key: str, array: npt.NDArray[Any]) -> tuple[str, ...]:
    if array.ndim != 1 or array.dtype.kind not in "Uiu":
        raise DataError(f"{path}: {key} must be a row of texts or whole numbers, got {array.dtype} {array.shape}")
    texts = tuple(map(str, array.tolist()))
    twice = next((text for text, times in Counter(texts).items() if times > 1), None)
    if twice is not None:
        raise DataError(f"{path}: {key}: {shown(twice)} appears twice")
    return texts


def _rows(features: NodeFeatures, ids: Sequence[str]) -> list[int]:
    own = features.own_ids
    place = {text: row for row, text in enumerate(own)}
    missing = [text for text in ids if text not in place]
    surplus = sorted(set(own) - set(ids))
    if missing or surplus:
        raise DataError(_mismatch(features, len(ids), missing, surplus))
    return [place[text] for text in ids]


def _mismatch(features: NodeFeatures, num_nodes: int, missing: list[str], surplus: list[str]) -> str:
    by_place = "; row i belongs to the node with id i: for other ids add an array ids to an .npz file"
    return (
        f"{features.path}: {features.matrix.shape[0]} rows of features for {num_nodes} nodes; "
        + "; ".join(
            f"{len(texts)} {what}: {', '.join(map(shown, texts[:MOST_EXAMPLES]))}"
            for what, texts in (("nodes without a row", missing), ("rows without a node", surplus))
            if texts
        )
        + (by_place if features.ids is None else "")
    )


def _finite(features: NodeFeatures, *, impute: bool, fills: Mapping[str, float]) -> tuple[Any, list[str]]:
    """The matrix, each value a finite float32; gaps are filled with ``impute``."""
    matrix = features.matrix
    values = matrix.data if sp.issparse(matrix) else matrix
    wrong = ~(np.abs(values.astype(np.float64, copy=False)) <= FLOAT32_MAX)
    if not wrong.any():
        return matrix, []
    if impute and not sp.issparse(matrix) and np.isnan(matrix[wrong]).all():
        means = _fills(features, matrix, wrong, fills)
        notice = f"{features.path}: {int(wrong.sum())} missing features set to the mean of their column"
        return np.where(wrong, means, matrix), [notice]
    row, column = _place(matrix, int(np.argmax(wrong)))
    raise DataError(
        f"{features.path}: row {row}, column {column} is {values.flat[np.argmax(wrong)]}, which is not a finite "
        f"float32 ({int(wrong.sum())} such values); --impute sets missing values (nan) of an array to their mean"
    )


def _fills(features: NodeFeatures, matrix: Any, wrong: Any, fills: Mapping[str, float]) -> Any:
    """What gaps are filled with, (F,): what was given, else the mean of the column."""
    names = features.own_names
    empty = [column for column in np.flatnonzero(wrong.all(0)) if names[column] not in fills]
    if empty:
        raise DataError(f"{features.path}: column {empty[0]} has no number, so it has no mean to fill gaps with")
    means = np.where(wrong, 0.0, matrix).sum(0, dtype=np.float64) / np.maximum((~wrong).sum(0), 1)
    return np.array([fills.get(name, mean) for name, mean in zip(names, means.tolist(), strict=True)])


def _place(matrix: Any, entry: int) -> tuple[int, int]:
    if sp.issparse(matrix):
        return int(np.searchsorted(matrix.indptr, entry, side="right")) - 1, int(matrix.indices[entry])
    return entry // int(matrix.shape[1]), entry % int(matrix.shape[1])
