"""The kernels in C++ (``kernels.cpp``), called on plain buffers.

Numbers are float32 or float64. Shapes are checked here, since nobody does on the other side.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from confgcn.kernels.library import function
from confgcn.sparse import SparseStructure


def edge_distance(structure: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    mu, precision, classes = _pair(structure, mu, precision)
    out = mu.new_empty(structure.num_entries)
    numbers = (mu.data_ptr(), precision.data_ptr(), classes, out.data_ptr(), torch.get_num_threads())
    function("distance", mu.dtype)(*_places(structure), _address(structure.mirror), *numbers)
    return out


def edge_distance_gradient(
    structure: SparseStructure, mu: Tensor, precision: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    mu, precision, classes = _pair(structure, mu, precision)
    to_mu, to_precision = torch.zeros_like(mu), torch.zeros_like(precision)
    inputs, outputs = (mu.data_ptr(), precision.data_ptr(), classes), (to_mu.data_ptr(), to_precision.data_ptr())
    if gradient.dim() != 1 or gradient.dtype != mu.dtype:
        raise ValueError(f"expected the gradient of {mu.dtype} distances, got {_kind(gradient)}")
    ends = [(structure, _of_entries(structure, gradient))]
    if structure.mirror is None:  # then a node's edges as target and as source are not the same ones
        transposed, order = structure.transposed
        ends.append((transposed, gradient[order]))
    for edges, of_edges in ends:
        places = (*_places(edges), _address(structure.mirror))
        function("distance_gradient", mu.dtype)(
            *places, *inputs, of_edges.data_ptr(), *outputs, torch.get_num_threads()
        )
    return to_mu, to_precision


def softmax(structure: SparseStructure, scores: Tensor) -> Tensor:
    scores = _of_entries(structure, scores)
    rows, indptr, _ = _places(structure)
    weights = torch.empty_like(scores)
    function("softmax", scores.dtype)(
        rows, indptr, scores.data_ptr(), _heads(scores), weights.data_ptr(), torch.get_num_threads()
    )
    return weights


def softmax_gradient(structure: SparseStructure, weights: Tensor, gradient: Tensor) -> Tensor:
    weights, gradient = _of_entries(structure, weights), gradient.contiguous()
    _require_alike("weights and gradient", weights, gradient)
    rows, indptr, _ = _places(structure)
    to_scores = torch.empty_like(weights)
    buffers = (weights.data_ptr(), gradient.data_ptr(), _heads(weights), to_scores.data_ptr())
    function("softmax_gradient", weights.dtype)(rows, indptr, *buffers, torch.get_num_threads())
    return to_scores


def dense_softmax(scores: Tensor) -> Tensor:
    _require_matrix("scores", scores)
    scores = scores.contiguous()
    weights = torch.empty_like(scores)
    buffers = (scores.data_ptr(), weights.data_ptr())
    function("dense_softmax", scores.dtype)(*scores.shape, *buffers, torch.get_num_threads())
    return weights


def dense_softmax_gradient(weights: Tensor, gradient: Tensor) -> Tensor:
    _require_matrix("weights", weights)
    weights, gradient = weights.contiguous(), gradient.contiguous()
    _require_alike("weights and gradient", weights, gradient)
    to_scores = torch.empty_like(weights)
    buffers = (weights.data_ptr(), gradient.data_ptr(), to_scores.data_ptr())
    function("dense_softmax_gradient", weights.dtype)(*weights.shape, *buffers, torch.get_num_threads())
    return to_scores


def sum_rows(structure: SparseStructure, values: Tensor) -> Tensor:
    values = _of_entries(structure, values)
    rows, indptr, _ = _places(structure)
    sums = values.new_empty(rows, *values.shape[1:])
    function("sum_rows", values.dtype)(
        rows, indptr, values.data_ptr(), _heads(values), sums.data_ptr(), torch.get_num_threads()
    )
    return sums


def multiply(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    return _multiply(structure, None, _of_entries(structure, values), dense)


def multiply_transposed(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    transposed, order = structure.transposed
    return _multiply(transposed, order, _of_entries(structure, values), dense)


def _multiply(structure: SparseStructure, order: Tensor | None, values: Tensor, dense: Tensor) -> Tensor:
    dense, heads = dense.contiguous(), _heads(values)
    rows, columns = structure.shape
    if dense.size(0) != columns or values.dim() != dense.dim() - 1 or values.dtype != dense.dtype:
        raise ValueError(f"expected {columns} rows for values {_kind(values)}, got {_kind(dense)}")
    if values.dim() == 2 and dense.size(1) != heads:
        raise ValueError(f"expected {heads} heads, got {_kind(dense)}")
    out = dense.new_empty((rows, *dense.shape[1:]))
    function("multiply", values.dtype)(
        *_places(structure),
        _address(order),
        values.data_ptr(),
        dense.data_ptr(),
        heads,
        dense.size(-1),
        out.data_ptr(),
        torch.get_num_threads(),
    )
    return out


def entry_products(structure: SparseStructure, left: Tensor, right: Tensor) -> Tensor:
    left, right = left.contiguous(), right.contiguous()
    alike = left.shape[1:] == right.shape[1:] and left.dtype == right.dtype and left.dim() in (2, 3)
    if (left.size(0), right.size(0)) != structure.shape or not alike:
        raise ValueError(f"expected factors of {structure.shape} rows, got {_kind(left)} and {_kind(right)}")
    out = left.new_empty((structure.num_entries, *left.shape[1:-1]))
    function("entry_products", left.dtype)(
        *_places(structure),
        left.data_ptr(),
        right.data_ptr(),
        _heads(out),
        left.size(-1),
        out.data_ptr(),
        torch.get_num_threads(),
    )
    return out


def drop(values: Tensor, seed: int, start: int, threshold: int, scale: float) -> Tensor:
    values = values.contiguous()
    out = torch.empty_like(values)
    numbers = (seed, start, threshold, scale)
    function("drop", values.dtype)(values.numel(), values.data_ptr(), *numbers, out.data_ptr(), torch.get_num_threads())
    return out


def all_finite(values: Tensor) -> bool:
    values = values.contiguous()
    return bool(function("all_finite", values.dtype)(values.numel(), values.data_ptr()))


def adam_step(weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[float]) -> None:
    gradient = gradient.contiguous()
    for other in (gradient, mean, square):
        _require_alike("weight, gradient and moments", weight, other)
    if not (weight.is_contiguous() and mean.is_contiguous() and square.is_contiguous()):
        raise ValueError("weight and moments must each lie in one piece")
    buffers = (weight.data_ptr(), gradient.data_ptr(), mean.data_ptr(), square.data_ptr())
    function("adam_step", weight.dtype)(weight.numel(), *buffers, *numbers, torch.get_num_threads())


_PLACES: WeakKeyDictionary[SparseStructure, tuple[int, int, int]] = WeakKeyDictionary()


def _places(structure: SparseStructure) -> tuple[int, int, int]:
    """Number of rows, and where indptr and indices lie."""
    places = _PLACES.get(structure)
    if places is None:
        _check_sound(structure)
        places = (structure.shape[0], structure.indptr.data_ptr(), structure.indices.data_ptr())
        _PLACES[structure] = places
    return places


def _check_sound(structure: SparseStructure) -> None:
    """No entry may stand outside the matrix: what lies there is not ours."""
    indptr, indices, (rows, columns) = structure.indptr, structure.indices, structure.shape
    if indptr.dtype != torch.int64 or indices.dtype != torch.int64:
        raise TypeError(f"places must be int64, got {indptr.dtype} and {indices.dtype}")
    in_order = indptr.shape == (rows + 1,) and indptr[0] == 0 and bool((indptr.diff() >= 0).all())
    if not in_order or indptr[-1] != len(indices) or not (indptr.is_contiguous() and indices.is_contiguous()):
        raise ValueError(f"indptr does not divide {len(indices)} entries into {rows} rows")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise ValueError(f"an entry stands outside the {columns} columns")


def _address(values: Tensor | None) -> int | None:
    return None if values is None else values.data_ptr()


def _heads(of_entries: Tensor) -> int:
    return 1 if of_entries.dim() == 1 else of_entries.size(1)


def _of_entries(structure: SparseStructure, values: Tensor) -> Tensor:
    if values.size(0) != structure.num_entries or values.dim() > 2:
        raise ValueError(f"expected a value for each of {structure.num_entries} entries, got {_kind(values)}")
    return values.contiguous()


def _pair(structure: SparseStructure, mu: Tensor, precision: Tensor) -> tuple[Tensor, Tensor, int]:
    _require_matrix("mu", mu)
    _require_alike("mu and precision", mu, precision)
    (rows, columns), classes = structure.shape, mu.shape[1]
    if rows > columns or len(mu) != columns:  # of a part of a graph the first columns are the rows
        raise ValueError(f"expected mu of an adjacency {structure.shape}, got {_kind(mu)}")
    return mu.contiguous(), precision.contiguous(), classes


def _require_matrix(what: str, values: Tensor) -> None:
    if values.dim() != 2:
        raise ValueError(f"{what}: expected rows and columns, got {_kind(values)}")


def _require_alike(what: str, one: Tensor, other: Tensor) -> None:
    if one.shape != other.shape or one.dtype != other.dtype:
        raise ValueError(f"{what} must be of one kind, got {_kind(one)} and {_kind(other)}")


def _kind(values: Tensor) -> str:
    return f"{tuple(values.shape)} of {values.dtype}"
