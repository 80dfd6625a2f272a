"""numpy, scipy and torch: a square adjacency matrix, dense or sparse, or an edge index of two rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from confgcn.data.formats.format import ObjectFormat
from confgcn.data.formats.objects.node_data import NodeData, plain_array
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError
from confgcn.graph import validation as checks
from confgcn.graph.validation import IntArray


def from_matrix(matrix: Any, nodes: NodeData, name: str) -> RawGraph:
    """A square matrix is an adjacency; whole numbers in two rows (but not two columns) are an edge index."""
    array = plain_array(matrix, "adjacency")
    if not sp.issparse(array) and _is_edge_index(array):
        return from_edge_index(array, nodes, name)
    _check_square(array.shape, nodes)
    checks.check_num_nodes(array.shape[0])
    return nodes.raw(name, edges_of_adjacency(array), array.shape[0])


def from_edge_index(edge_index: Any, nodes: NodeData, name: str, num_nodes: int | None = None) -> RawGraph:
    """Sources in the first row, targets in the second; the number of nodes is that of the features, names or labels."""
    array = plain_array(edge_index, "edge_index")
    if array.ndim != 2 or array.shape[0] != 2:
        hint = "; transpose it" if array.ndim == 2 and array.shape[1] == 2 else ""
        raise DataError(f"edge_index: expected shape (2, edges), got {tuple(array.shape)}{hint}")
    count = _num_nodes(nodes) if num_nodes is None else num_nodes
    checks.check_num_nodes(count)
    return nodes.raw(name, array.T, count)


def _is_edge_index(array: npt.NDArray[Any]) -> bool:
    if array.ndim != 2 or array.dtype.kind not in "iu" or array.shape[0] == array.shape[1]:
        return False
    return 2 in array.shape


def _num_nodes(nodes: NodeData) -> int:
    for values in (nodes.features, nodes.names, nodes.labels):
        if values is not None:
            return int(values.shape[0]) if hasattr(values, "shape") else len(values)
    raise DataError("edge_index: it does not determine the number of nodes; pass features, node_names or labels too")


def _check_square(shape: tuple[int, ...], nodes: NodeData) -> None:
    if len(shape) == 2 and shape[0] == shape[1]:
        return
    beside = f", features of shape {tuple(nodes.features.shape)}" if hasattr(nodes.features, "shape") else ""
    raise DataError(f"adjacency: expected a square matrix, a row and a column per node, got shape {shape}{beside}")


def edges_of_adjacency(adjacency: Any) -> IntArray:
    """The edges of an adjacency matrix of zeros and ones, dense or sparse, (M, 2)."""
    if not sp.issparse(adjacency):
        places = np.argwhere(adjacency != 0)
        values = adjacency[tuple(places.T)]
    else:
        _check_stored(adjacency)
        stored = _as_coo(adjacency)
        _check_stored(stored)
        places, values = np.stack([stored.row, stored.col], 1).astype(np.int64), stored.data
    _check_weights(places, values)
    edges: IntArray = places[values != 0]
    return edges


def _as_coo(adjacency: Any) -> Any:
    try:
        return adjacency.tocoo()
    except ValueError as error:
        raise DataError(f"adjacency: its entries do not fit its shape {adjacency.shape} ({error})") from None


def _check_stored(adjacency: Any) -> None:
    try:
        checks.check_stored_indices(adjacency)
    except DataError as error:
        raise DataError(str(error).replace("features", "adjacency", 1)) from None


def _check_weights(places: IntArray, values: npt.NDArray[Any]) -> None:
    if values.dtype.kind not in "biuf":
        raise DataError(f"adjacency: expected numbers, 0 or 1, got {values.dtype}")
    wrong = (values != 0) & (values != 1)
    if not wrong.any():
        return
    first = int(np.argmax(wrong))
    row, column = places[first]
    is_weight = bool(np.isfinite(values[wrong]).all() and (values[wrong] > 0).all())
    hint = "; weights are not used: pass adjacency != 0 to keep the edges alone" if is_weight else ""
    raise DataError(
        f"adjacency: row {row}, column {column} is {values[first]}, expected 0 or 1 "
        f"({int(wrong.sum())} such values){hint}"
    )


def _is_matrix(graph: Any) -> bool:
    return isinstance(graph, np.ndarray | torch.Tensor) or sp.issparse(graph)


FORMAT = ObjectFormat(
    "matrix", "a square adjacency matrix (scipy, numpy, torch), an edge index (2, edges)", _is_matrix, from_matrix
)
