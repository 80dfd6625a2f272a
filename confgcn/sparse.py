"""A sparse matrix whose structure is fixed and whose values may change from step to step.

It serves both products of a graph network: features times weights (structure: the stored non-zeros of X)
and aggregation over neighbours (structure: the edges, grouped by target).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class SparseStructure:
    """Where the entries of a compressed sparse row matrix stand.

    Shapes: ``indptr`` (rows + 1), ``indices`` (entries), sorted and unique within a row.
    """

    indptr: Tensor
    indices: Tensor
    shape: tuple[int, int]

    @cached_property
    def rows(self) -> Tensor:
        """The row of each entry, (entries,)."""
        counts = self.indptr[1:] - self.indptr[:-1]
        return torch.repeat_interleave(torch.arange(self.shape[0]), counts)

    @cached_property
    def transposed(self) -> tuple[SparseStructure, Tensor]:
        """The structure of the transpose, and the order that carries values over to it."""
        order = torch.argsort(self.indices, stable=True)
        counts = torch.bincount(self.indices, minlength=self.shape[1])
        indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return SparseStructure(indptr, self.rows[order], (self.shape[1], self.shape[0])), order

    def matmul(self, values: Tensor, dense: Tensor) -> Tensor:
        """Multiply the matrix with these ``values`` (entries,) by ``dense`` (columns, width)."""
        product: Tensor = _SparseMatmul.apply(values, dense, self)  # type: ignore[no-untyped-call]
        return product


class _SparseMatmul(torch.autograd.Function):
    """Y = A B, with dL/dB = A^T G and dL/dA_ij = <G_i, B_j> on the stored entries only."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, dense: Tensor, structure: SparseStructure) -> Tensor:
        ctx.structure = structure
        ctx.save_for_backward(values, dense)
        return _multiply(structure, values, dense)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (gradient,) = gradients
        structure: SparseStructure = ctx.structure
        values, dense = ctx.saved_tensors
        to_values = to_dense = None
        if ctx.needs_input_grad[0]:
            to_values = (gradient[structure.rows] * dense[structure.indices]).sum(-1)
        if ctx.needs_input_grad[1]:
            transposed, order = structure.transposed
            to_dense = _multiply(transposed, values[order], gradient.contiguous())
        return to_values, to_dense, None


def _multiply(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    _hear_beta_notice()
    matrix = torch.sparse_csr_tensor(
        structure.indptr, structure.indices, values, structure.shape, check_invariants=False
    )
    return matrix @ dense


@cache
def _hear_beta_notice() -> None:
    """torch says once in a process that this layout is in beta: let it say so here, unheard."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        nothing = torch.empty(0, dtype=torch.long)
        torch.sparse_csr_tensor(torch.tensor([0, 0]), nothing, torch.empty(0), (1, 1), check_invariants=False)


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """Sparse features: a structure and the value of each entry. Never made dense."""

    structure: SparseStructure
    values: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        return self.structure.shape

    def __matmul__(self, dense: Tensor) -> Tensor:
        return self.structure.matmul(self.values, dense)

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same structure with other values."""
        return SparseMatrix(self.structure, values)

    def row_sums(self) -> Tensor:
        """The sum of each row, (rows,)."""
        return self.values.new_zeros(self.shape[0]).index_add_(0, self.structure.rows, self.values)
