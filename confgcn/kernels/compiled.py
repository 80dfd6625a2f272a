"""The kernels in C++ (``kernels.cpp``), called on plain buffers; ``arguments.py`` checks what they are called with.

Tensors that are not contiguous are copied.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from confgcn.kernels.arguments import (
    accept,
    accept_nodes,
    accept_of_entries,
    accept_scores_and_precisions,
    accept_transitions,
    described,
    pointers,
    shape_error,
)
from confgcn.kernels.library import function
from confgcn.sparse import SparseStructure


def edge_distance(structure: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    mu, precision = accept_scores_and_precisions(structure, mu, precision)
    out = mu.new_empty(structure.num_entries)
    function("distance", mu.dtype)(
        *pointers(structure),
        _pointer(structure.mirror),
        mu.data_ptr(),
        precision.data_ptr(),
        mu.shape[1],
        out.data_ptr(),
        torch.get_num_threads(),
    )
    return out


def edge_distance_gradient(
    structure: SparseStructure, mu: Tensor, precision: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    mu, precision = accept_scores_and_precisions(structure, mu, precision)
    gradient = accept("gradient", gradient, like=mu, shape=(structure.num_entries,))
    to_mu, to_precision = torch.zeros_like(mu), torch.zeros_like(precision)
    ends = [(structure, gradient)]
    if structure.mirror is None:  # then the edges into a node and those out of it are different ones
        transposed, order = structure.transposed
        ends.append((transposed, gradient[order]))
    for edges, of_edges in ends:
        function("distance_gradient", mu.dtype)(
            *pointers(edges),
            _pointer(structure.mirror),
            mu.data_ptr(),
            precision.data_ptr(),
            mu.shape[1],
            of_edges.data_ptr(),
            to_mu.data_ptr(),
            to_precision.data_ptr(),
            torch.get_num_threads(),
        )
    return to_mu, to_precision


def softmax(structure: SparseStructure, scores: Tensor) -> Tensor:
    scores = accept_of_entries("scores", scores, structure)
    rows, indptr, _ = pointers(structure)
    weights = torch.empty_like(scores)
    function("softmax", scores.dtype)(
        rows, indptr, scores.data_ptr(), _heads(scores), weights.data_ptr(), torch.get_num_threads()
    )
    return weights


def softmax_gradient(structure: SparseStructure, weights: Tensor, gradient: Tensor) -> Tensor:
    weights = accept_of_entries("weights", weights, structure)
    gradient = accept("gradient", gradient, like=weights, shape=weights.shape)
    rows, indptr, _ = pointers(structure)
    to_scores = torch.empty_like(weights)
    buffers = (weights.data_ptr(), gradient.data_ptr(), _heads(weights), to_scores.data_ptr())
    function("softmax_gradient", weights.dtype)(rows, indptr, *buffers, torch.get_num_threads())
    return to_scores


def dense_softmax(scores: Tensor) -> Tensor:
    scores = accept("scores", scores, dims=2)
    weights = torch.empty_like(scores)
    buffers = (scores.data_ptr(), weights.data_ptr())
    function("dense_softmax", scores.dtype)(*scores.shape, *buffers, torch.get_num_threads())
    return weights


def dense_softmax_gradient(weights: Tensor, gradient: Tensor) -> Tensor:
    weights = accept("weights", weights, dims=2)
    gradient = accept("gradient", gradient, like=weights, shape=weights.shape)
    to_scores = torch.empty_like(weights)
    buffers = (weights.data_ptr(), gradient.data_ptr(), to_scores.data_ptr())
    function("dense_softmax_gradient", weights.dtype)(*weights.shape, *buffers, torch.get_num_threads())
    return to_scores


def sum_rows(structure: SparseStructure, values: Tensor) -> Tensor:
    values = accept_of_entries("values", values, structure)
    rows, indptr, _ = pointers(structure)
    sums = values.new_empty(rows, *values.shape[1:])
    function("sum_rows", values.dtype)(
        rows, indptr, values.data_ptr(), _heads(values), sums.data_ptr(), torch.get_num_threads()
    )
    return sums


def multiply(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    return _multiply(structure, None, accept_of_entries("values", values, structure), dense)


def multiply_transposed(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    transposed, order = structure.transposed
    return _multiply(transposed, order, accept_of_entries("values", values, structure), dense)


def _multiply(structure: SparseStructure, order: Tensor | None, values: Tensor, dense: Tensor) -> Tensor:
    dense = accept("dense", dense, like=values, dims=values.dim() + 1)
    (rows, columns), heads = structure.shape, _heads(values)
    if dense.size(0) != columns or (values.dim() == 2 and dense.size(1) != heads):
        expected = (columns, heads, "width") if values.dim() == 2 else (columns, "width")
        raise shape_error("dense", f"({', '.join(map(str, expected))})", dense)
    out = dense.new_empty((rows, *dense.shape[1:]))
    function("multiply", values.dtype)(
        *pointers(structure),
        _pointer(order),
        values.data_ptr(),
        dense.data_ptr(),
        heads,
        dense.size(-1),
        out.data_ptr(),
        torch.get_num_threads(),
    )
    return out


def entry_products(structure: SparseStructure, left: Tensor, right: Tensor) -> Tensor:
    left = accept("left", left)
    if left.dim() not in (2, 3) or left.size(0) != structure.shape[0]:
        raise shape_error("left", f"({structure.shape[0]}, width) or ({structure.shape[0]}, heads, width)", left)
    right = accept("right", right, like=left, shape=(structure.shape[1], *left.shape[1:]))
    out = left.new_empty((structure.num_entries, *left.shape[1:-1]))
    function("entry_products", left.dtype)(
        *pointers(structure),
        left.data_ptr(),
        right.data_ptr(),
        _heads(out),
        left.size(-1),
        out.data_ptr(),
        torch.get_num_threads(),
    )
    return out


def drop(values: Tensor, seed: int, start: int, threshold: int, scale: float) -> Tensor:
    values = accept("values", values)
    out = torch.empty_like(values)
    numbers = (seed, start, threshold, scale)
    function("drop", values.dtype)(values.numel(), values.data_ptr(), *numbers, out.data_ptr(), torch.get_num_threads())
    return out


def all_finite(values: Tensor) -> bool:
    values = accept("values", values)
    return bool(function("all_finite", values.dtype)(values.numel(), values.data_ptr()))


def adam_step(weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[float]) -> None:
    gradient = accept("gradient", gradient, like=weight, shape=weight.shape)
    for name, tensor in (("weight", weight), ("mean", mean), ("square", square)):
        accept(name, tensor, like=weight, shape=weight.shape)
        if not tensor.is_contiguous():  # a copy would be updated instead
            raise ValueError(
                f"{name}: expected a contiguous tensor, got strides {tensor.stride()} for {described(tensor)}"
            )
    buffers = (weight.data_ptr(), gradient.data_ptr(), mean.data_ptr(), square.data_ptr())
    function("adam_step", weight.dtype)(weight.numel(), *buffers, *numbers, torch.get_num_threads())


def propagation_rows(
    structure: SparseStructure,
    values: Tensor,
    coefficients: Sequence[float],
    nodes: range,
    *,
    width: int,
    kept: int,
    without_self: bool = False,
) -> tuple[Tensor, Tensor]:
    values = accept_transitions(values, structure, nodes)
    if width < 1 or kept < 1 or not len(coefficients):
        given = f"{width}, {kept} and {len(coefficients)}"
        raise ValueError(f"width, kept and the number of coefficients: expected at least 1, got {given}")
    count, indptr, entries = pointers(structure)
    numbers = torch.tensor(coefficients, dtype=torch.float64)
    indices, weights = torch.empty(len(nodes), width, dtype=torch.int32), values.new_empty(len(nodes), width)
    is_complete = function("propagation_rows", values.dtype)(
        *(nodes.start, nodes.stop, count, indptr, entries),
        *(values.data_ptr(), numbers.data_ptr(), len(numbers) - 1, width, kept, without_self),
        *(indices.data_ptr(), weights.data_ptr(), torch.get_num_threads()),
    )
    if not is_complete:
        raise MemoryError(f"for the propagation rows of {len(nodes)} nodes")
    return indices, weights


def sum_feature_rows(
    structure: SparseStructure, values: Tensor, nodes: Tensor, weights: Tensor, *, unit_length: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    values = accept("values", values, shape=(structure.num_entries,))
    weights = accept("weights", weights, like=values, dims=2)
    nodes = accept_nodes(nodes, structure, weights.shape)
    _, starts, entries = pointers(structure)
    room = _largest_counts(structure, nodes, weights).cumsum(0)  # (rows + 1,)
    indptr, indices = torch.zeros_like(room), torch.empty(int(room[-1]), dtype=torch.long)
    sums = values.new_empty(len(indices))
    count = function("sum_feature_rows", values.dtype)(
        *(len(nodes), starts, entries, values.data_ptr(), structure.shape[1]),
        *(nodes.data_ptr(), weights.data_ptr(), nodes.size(1), unit_length, room.data_ptr()),
        *(indptr.data_ptr(), indices.data_ptr(), sums.data_ptr(), torch.get_num_threads()),
    )
    if count < 0:
        raise MemoryError(f"to add {nodes.numel()} rows of {structure.shape[1]} features")
    return indptr, indices[:count].clone(), sums[:count].clone()  # copies: there was room for several times as many


def _largest_counts(structure: SparseStructure, nodes: Tensor, weights: Tensor) -> Tensor:
    """Zero, then the largest number of entries that each sum of rows can have, (rows + 1,)."""
    flat = nodes.flatten().long()
    lengths = structure.indptr.index_select(0, flat + 1) - structure.indptr.index_select(0, flat)
    counts = (lengths.view(nodes.shape) * (weights != 0)).sum(1).clamp_(max=structure.shape[1])
    return torch.cat([counts.new_zeros(1), counts])


def _pointer(values: Tensor | None) -> int | None:
    return None if values is None else values.data_ptr()


def _heads(of_entries: Tensor) -> int:
    return 1 if of_entries.dim() == 1 else of_entries.size(1)
