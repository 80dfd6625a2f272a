"""Checks of the arguments of the compiled kernels, because the C++ side checks nothing.

Tensors must be on the CPU, float32 or float64, of one type and of matching shapes. A wrong device or type is a
``TypeError``, a wrong shape a ``ValueError``; both name what was expected and what was given.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from confgcn.kernels.library import TYPES
from confgcn.sparse import SparseStructure


def accept(
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
        raise shape_error(name, f"{dims} dimensions", values)
    if shape is not None and values.shape != shape:
        raise shape_error(name, str(tuple(shape)), values)
    return values.contiguous()


def accept_of_entries(name: str, values: Tensor, structure: SparseStructure) -> Tensor:
    """One value, or one for each head, of every entry."""
    values = accept(name, values)
    if values.dim() not in (1, 2) or values.size(0) != structure.num_entries:
        count = structure.num_entries
        raise shape_error(name, f"({count},) or ({count}, heads), one per entry", values)
    return values


def accept_scores_and_precisions(structure: SparseStructure, mu: Tensor, precision: Tensor) -> tuple[Tensor, Tensor]:
    """``mu`` and ``precision`` of every node of an adjacency."""
    rows, columns = structure.shape
    mu = accept("mu", mu, dims=2)
    if rows > columns or len(mu) != columns:  # in a shard the first columns are the rows
        raise shape_error("mu", f"one row per column of an adjacency of shape {structure.shape}", mu)
    return mu, accept("precision", precision, like=mu, shape=mu.shape)


def accept_nodes(nodes: Tensor, structure: SparseStructure, shape: torch.Size) -> Tensor:
    """Rows of the structure by number, which the C++ side reads without checking."""
    if not nodes.is_cpu:
        raise TypeError(f"nodes: compiled kernels need tensors on the CPU, got one on {nodes.device}")
    if nodes.dtype != torch.int32:
        raise TypeError(f"nodes: expected int32, got {nodes.dtype}")
    if nodes.shape != shape:
        raise shape_error("nodes", f"{tuple(shape)}, as the weights", nodes)
    if nodes.numel():
        lowest, highest = map(int, nodes.aminmax())
        if lowest < 0 or highest >= structure.shape[0]:
            raise ValueError(f"nodes: expected numbers from 0 to {structure.shape[0] - 1}, got {lowest} to {highest}")
    return nodes.contiguous()


def accept_transitions(values: Tensor, structure: SparseStructure, nodes: range) -> Tensor:
    """The values of a square matrix, none below zero: sums that cancel would reach a column twice in C++."""
    rows, columns = structure.shape
    if rows != columns or rows > torch.iinfo(torch.int32).max:
        raise ValueError(f"structure: expected a square one of fewer than 2^31 rows, got {structure.shape}")
    if nodes.step != 1 or nodes.start < 0 or nodes.stop > rows:
        raise ValueError(f"nodes: expected a range of step 1 from 0 to {rows}, got {nodes}")
    values = accept("values", values, shape=(structure.num_entries,))
    if values.numel() and not values.min() >= 0:
        raise ValueError(f"values: expected none below 0, got {float(values.min())}")
    return values


_POINTERS: WeakKeyDictionary[SparseStructure, tuple[int, int, int]] = WeakKeyDictionary()


def pointers(structure: SparseStructure) -> tuple[int, int, int]:
    """The number of rows, and the addresses of indptr and indices."""
    known = _POINTERS.get(structure)
    if known is None:
        _check_structure(structure)
        known = (structure.shape[0], structure.indptr.data_ptr(), structure.indices.data_ptr())
        _POINTERS[structure] = known
    return known


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


def shape_error(name: str, expected: str, values: Tensor) -> ValueError:
    """The error for a tensor of another shape."""
    return ValueError(f"{name}: expected {expected}, got {described(values)}")


def described(values: Tensor) -> str:
    """The shape and type of a tensor, for an error message."""
    return f"{tuple(values.shape)} of {values.dtype}"
