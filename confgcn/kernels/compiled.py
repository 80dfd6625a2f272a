"""The kernels in C++ (``kernels.cpp``), called on plain buffers.

Every function here checks its tensors, because the C++ side checks nothing: they must be on the CPU, float32 or
float64, of one type and of matching shapes. A wrong device or type is a ``TypeError``, a wrong shape a ``ValueError``;
both name what was expected and what was given. Tensors that are not contiguous are copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from confgcn.kernels.library import TYPES, function
from confgcn.sparse import SparseStructure


def edge_distance(structure: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    mu, precision = _scores_and_precisions(structure, mu, precision)
    out = mu.new_empty(structure.num_entries)
    function("distance", mu.dtype)(
        *_pointers(structure),
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
    mu, precision = _scores_and_precisions(structure, mu, precision)
    gradient = _accept("gradient", gradient, like=mu, shape=(structure.num_entries,))
    to_mu, to_precision = torch.zeros_like(mu), torch.zeros_like(precision)
    ends = [(structure, gradient)]
    if structure.mirror is None:  # then the edges into a node and those out of it are different ones
        transposed, order = structure.transposed
        ends.append((transposed, gradient[order]))
    for edges, of_edges in ends:
        function("distance_gradient", mu.dtype)(
            *_pointers(edges),
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
    scores = _accept_of_entries("scores", scores, structure)
    rows, indptr, _ = _pointers(structure)
    weights = torch.empty_like(scores)
    function("softmax", scores.dtype)(
        rows, indptr, scores.data_ptr(), _heads(scores), weights.data_ptr(), torch.get_num_threads()
    )
    return weights


def softmax_gradient(structure: SparseStructure, weights: Tensor, gradient: Tensor) -> Tensor:
    weights = _accept_of_entries("weights", weights, structure)
    gradient = _accept("gradient", gradient, like=weights, shape=weights.shape)
    rows, indptr, _ = _pointers(structure)
    to_scores = torch.empty_like(weights)
    buffers = (weights.data_ptr(), gradient.data_ptr(), _heads(weights), to_scores.data_ptr())
    function("softmax_gradient", weights.dtype)(rows, indptr, *buffers, torch.get_num_threads())
    return to_scores


def dense_softmax(scores: Tensor) -> Tensor:
    scores = _accept("scores", scores, dims=2)
    weights = torch.empty_like(scores)
    buffers = (scores.data_ptr(), weights.data_ptr())
    function("dense_softmax", scores.dtype)(*scores.shape, *buffers, torch.get_num_threads())
    return weights


def dense_softmax_gradient(weights: Tensor, gradient: Tensor) -> Tensor:
    weights = _accept("weights", weights, dims=2)
    gradient = _accept("gradient", gradient, like=weights, shape=weights.shape)
    to_scores = torch.empty_like(weights)
    buffers = (weights.data_ptr(), gradient.data_ptr(), to_scores.data_ptr())
    function("dense_softmax_gradient", weights.dtype)(*weights.shape, *buffers, torch.get_num_threads())
    return to_scores


def sum_rows(structure: SparseStructure, values: Tensor) -> Tensor:
    values = _accept_of_entries("values", values, structure)
    rows, indptr, _ = _pointers(structure)
    sums = values.new_empty(rows, *values.shape[1:])
    function("sum_rows", values.dtype)(
        rows, indptr, values.data_ptr(), _heads(values), sums.data_ptr(), torch.get_num_threads()
    )
    return sums


def multiply(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    return _multiply(structure, None, _accept_of_entries("values", values, structure), dense)


def multiply_transposed(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    transposed, order = structure.transposed
    return _multiply(transposed, order, _accept_of_entries("values", values, structure), dense)


def _multiply(structure: SparseStructure, order: Tensor | None, values: Tensor, dense: Tensor) -> Tensor:
    dense = _accept("dense", dense, like=values, dims=values.dim() + 1)
    (rows, columns), heads = structure.shape, _heads(values)
    if dense.size(0) != columns or (values.dim() == 2 and dense.size(1) != heads):
        expected = (columns, heads, "width") if values.dim() == 2 else (columns, "width")
        raise _shape_error("dense", f"({', '.join(map(str, expected))})", dense)
    out = dense.new_empty((rows, *dense.shape[1:]))
    function("multiply", values.dtype)(
        *_pointers(structure),
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
    left = _accept("left", left)
    if left.dim() not in (2, 3) or left.size(0) != structure.shape[0]:
        raise _shape_error("left", f"({structure.shape[0]}, width) or ({structure.shape[0]}, heads, width)", left)
    right = _accept("right", right, like=left, shape=(structure.shape[1], *left.shape[1:]))
    out = left.new_empty((structure.num_entries, *left.shape[1:-1]))
    function("entry_products", left.dtype)(
        *_pointers(structure),
        left.data_ptr(),
        right.data_ptr(),
        _heads(out),
        left.size(-1),
        out.data_ptr(),
        torch.get_num_threads(),
    )
    return out


def drop(values: Tensor, seed: int, start: int, threshold: int, scale: float) -> Tensor:
    values = _accept("values", values)
    out = torch.empty_like(values)
    numbers = (seed, start, threshold, scale)
    function("drop", values.dtype)(values.numel(), values.data_ptr(), *numbers, out.data_ptr(), torch.get_num_threads())
    return out


def all_finite(values: Tensor) -> bool:
    values = _accept("values", values)
    return bool(function("all_finite", values.dtype)(values.numel(), values.data_ptr()))


def adam_step(weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[float]) -> None:
    gradient = _accept("gradient", gradient, like=weight, shape=weight.shape)
    for name, tensor in (("weight", weight), ("mean", mean), ("square", square)):
        _accept(name, tensor, like=weight, shape=weight.shape)
        if not tensor.is_contiguous():  # a copy would be updated instead
            raise ValueError(f"{name}: expected a contiguous tensor, got strides {tensor.stride()} for {_kind(tensor)}")
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
    values = _accept("values", values, shape=(structure.num_entries,))
    count, indptr, entries = _pointers(structure)
    _check_walk(structure, coefficients, nodes, width, kept)
    if (
        values.numel() and not values.min() >= 0
    ):  # then a column may be reached twice, which the C++ side has no room for
        raise ValueError(f"values: expected none below 0, got {float(values.min())}")
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
    values = _accept("values", values, shape=(structure.num_entries,))
    weights = _accept("weights", weights, like=values, dims=2)
    nodes = _accept_nodes(nodes, structure, weights.shape)
    _, starts, entries = _pointers(structure)
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


def _accept(
    name: str,
    values: Tensor,
    *,
    like: Tensor | None = None,
    dims: int | None = None,
    shape: tuple[int, ...] | torch.Size | None = None,
) -> Tensor:
    """A tensor that can be passed to C++, contiguous; ``like`` gives the type, ``dims`` or ``shape`` the shape."""
    if not values.is_cpu:
        raise TypeError(f"{name}: compiled kernels need tensors on the CPU, got one on {values.device}")
    if values.dtype not in TYPES:
        raise TypeError(f"{name}: expected float32 or float64, got {values.dtype}")
    if like is not None and values.dtype != like.dtype:
        raise TypeError(f"{name}: expected {like.dtype}, as the other tensors, got {values.dtype}")
    if dims is not None and values.dim() != dims:
        raise _shape_error(name, f"{dims} dimensions", values)
    if shape is not None and values.shape != shape:
        raise _shape_error(name, str(tuple(shape)), values)
    return values.contiguous()


def _accept_of_entries(name: str, values: Tensor, structure: SparseStructure) -> Tensor:
    values = _accept(name, values)
    if values.dim() not in (1, 2) or values.size(0) != structure.num_entries:
        count = structure.num_entries
        raise _shape_error(name, f"({count},) or ({count}, heads), one per entry", values)
    return values


def _scores_and_precisions(structure: SparseStructure, mu: Tensor, precision: Tensor) -> tuple[Tensor, Tensor]:
    rows, columns = structure.shape
    mu = _accept("mu", mu, dims=2)
    if rows > columns or len(mu) != columns:  # in a shard the first columns are the rows
        raise _shape_error("mu", f"one row per column of an adjacency of shape {structure.shape}", mu)
    return mu, _accept("precision", precision, like=mu, shape=mu.shape)


def _accept_nodes(nodes: Tensor, structure: SparseStructure, shape: torch.Size) -> Tensor:
    """Rows of the structure by number, which the C++ side reads without checking."""
    if not nodes.is_cpu:
        raise TypeError(f"nodes: compiled kernels need tensors on the CPU, got one on {nodes.device}")
    if nodes.dtype != torch.int32:
        raise TypeError(f"nodes: expected int32, got {nodes.dtype}")
    if nodes.shape != shape:
        raise _shape_error("nodes", f"{tuple(shape)}, as the weights", nodes)
    if nodes.numel():
        lowest, highest = map(int, nodes.aminmax())
        if lowest < 0 or highest >= structure.shape[0]:
            raise ValueError(f"nodes: expected numbers from 0 to {structure.shape[0] - 1}, got {lowest} to {highest}")
    return nodes.contiguous()


def _check_walk(structure: SparseStructure, coefficients: Sequence[float], nodes: range, width: int, kept: int) -> None:
    rows, columns = structure.shape
    if rows != columns or rows > torch.iinfo(torch.int32).max:
        raise ValueError(f"structure: expected a square one of fewer than 2^31 rows, got {structure.shape}")
    if nodes.step != 1 or nodes.start < 0 or nodes.stop > rows:
        raise ValueError(f"nodes: expected a range of step 1 from 0 to {rows}, got {nodes}")
    if width < 1 or kept < 1 or not len(coefficients):
        given = f"{width}, {kept} and {len(coefficients)}"
        raise ValueError(f"width, kept and the number of coefficients: expected at least 1, got {given}")


def _largest_counts(structure: SparseStructure, nodes: Tensor, weights: Tensor) -> Tensor:
    """Zero, then the largest number of entries that each sum of rows can have, (rows + 1,)."""
    flat = nodes.flatten().long()
    lengths = structure.indptr.index_select(0, flat + 1) - structure.indptr.index_select(0, flat)
    counts = (lengths.view(nodes.shape) * (weights != 0)).sum(1).clamp_(max=structure.shape[1])
    return torch.cat([counts.new_zeros(1), counts])


_POINTERS: WeakKeyDictionary[SparseStructure, tuple[int, int, int]] = WeakKeyDictionary()


def _pointers(structure: SparseStructure) -> tuple[int, int, int]:
    """The number of rows, and the addresses of indptr and indices."""
    pointers = _POINTERS.get(structure)
    if pointers is None:
        _check_structure(structure)
        pointers = (structure.shape[0], structure.indptr.data_ptr(), structure.indices.data_ptr())
        _POINTERS[structure] = pointers
    return pointers


def _check_structure(structure: SparseStructure) -> None:
    """Check that every entry is inside the matrix: the C++ side would read other memory."""
    indptr, indices, (rows, columns) = structure.indptr, structure.indices, structure.shape
    if not (indptr.is_cpu and indices.is_cpu):
        raise TypeError(f"structure: compiled kernels need tensors on the CPU, got one on {structure.device}")
    if indptr.dtype != torch.int64 or indices.dtype != torch.int64:
        raise TypeError(f"structure: expected int64, got {indptr.dtype} and {indices.dtype}")
    is_sorted = indptr.shape == (rows + 1,) and indptr[0] == 0 and bool((indptr.diff() >= 0).all())
    if not (indptr.is_contiguous() and indices.is_contiguous()):
        raise ValueError(
            f"structure: expected contiguous tensors, got strides {indptr.stride()} and {indices.stride()}"
        )
    if not is_sorted or indptr[-1] != len(indices):
        raise ValueError(f"structure: indptr does not divide {len(indices)} entries into {rows} rows")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        lowest, highest = int(indices.min()), int(indices.max())
        raise ValueError(f"structure: expected column indices from 0 to {columns - 1}, got {lowest} to {highest}")


def _pointer(values: Tensor | None) -> int | None:
    return None if values is None else values.data_ptr()


def _heads(of_entries: Tensor) -> int:
    return 1 if of_entries.dim() == 1 else of_entries.size(1)


def _shape_error(name: str, expected: str, values: Tensor) -> ValueError:
    return ValueError(f"{name}: expected {expected}, got {_kind(values)}")


def _kind(values: Tensor) -> str:
    return f"{tuple(values.shape)} of {values.dtype}"
