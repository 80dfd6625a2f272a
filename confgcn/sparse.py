"""A sparse matrix whose structure is fixed and whose values may change from step to step.

It serves both products of a graph network: features times weights (structure: the stored non-zeros of X)
and aggregation over neighbours (structure: the edges, grouped by target).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakValueDictionary

import scipy.sparse as sp
import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class SparseStructure:
    """The positions of the entries of a compressed sparse row matrix.

    Shapes: ``indptr`` (rows + 1), ``indices`` (entries), sorted and unique within a row. A structure on another device
    than the CPU has its CPU copy as ``host``: what is derived from a structure is computed there.
    """

    indptr: Tensor
    indices: Tensor
    shape: tuple[int, int]
    host: SparseStructure | None = field(default=None, repr=False)

    @property
    def num_entries(self) -> int:
        return self.indices.size(0)

    @property
    def device(self) -> torch.device:
        return self.indices.device

    def to(self, device: torch.device | str) -> SparseStructure:
        """The same structure on this device; there is one copy per device."""
        device, host = torch.device(device), self.on_cpu
        if device.type == "cpu":
            return host
        copy = host._copies.get(device)
        if copy is None:
            copy = SparseStructure(host.indptr.to(device), host.indices.to(device), self.shape, host)
            host._copies[device] = copy
        return copy

    @cached_property
    def _copies(self) -> WeakValueDictionary[torch.device, SparseStructure]:
        return WeakValueDictionary()

    @property
    def on_cpu(self) -> SparseStructure:
        """The same structure on the CPU."""
        if self.device.type == "cpu":
            return self
        return self.host or SparseStructure(self.indptr.cpu(), self.indices.cpu(), self.shape)

    @cached_property
    def rows(self) -> Tensor:
        """The row of each entry, (entries,)."""
        with torch.inference_mode(False):  # cached tensors are used in training too
            return self._rows()

    @property
    def transposed(self) -> tuple[SparseStructure, Tensor]:
        """The structure of the transpose, and the order that carries values over to it."""
        structure, order = self._transposed
        return (self if structure is None else structure), order

    @cached_property
    def _transposed(self) -> tuple[SparseStructure | None, Tensor]:
        """As :attr:`transposed`, with None for the structure itself: a cached reference to it would be a cycle."""
        with torch.inference_mode(False):
            if self.host is not None:
                structure, order = self.host._transposed
                return (None if structure is None else structure.to(self.device)), order.to(self.device)
            if self.device.type != "cpu":
                return self._transposed_by_sorting()
            numbered = SparseMatrix(self, torch.arange(self.num_entries)).to_scipy()
            columns = numbered.tocsc()  # counts the entries of each column, without sorting
            arrays = (columns.indptr, columns.indices, columns.data)
            indptr, rows, order = (torch.from_numpy(array).long() for array in arrays)
        structure = SparseStructure(indptr, rows, (self.shape[1], self.shape[0]))
        return (None if structure.equals(self) else structure), order

    def _transposed_by_sorting(self) -> tuple[SparseStructure, Tensor]:
        """On any device, for structures made there; whether the structure is symmetric is not examined."""
        order = self.indices.argsort(stable=True)
        counts = self.indptr.new_zeros(self.shape[1]).index_add_(0, self.indices, torch.ones_like(self.indices))
        indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return SparseStructure(indptr, self.rows[order], (self.shape[1], self.shape[0])), order

    @property
    def mirror(self) -> Tensor | None:
        """The position of entry (j, i) for every entry (i, j) of a symmetric structure; None for others."""
        structure, order = self._transposed
        return order if structure is None else None

    @cached_property
    def without_diagonal(self) -> tuple[SparseStructure, Tensor]:
        """The entries off the diagonal, and their positions among all."""
        with torch.inference_mode(False):
            if self.device.type != "cpu":
                structure, entries = self.on_cpu.without_diagonal
                return structure.to(self.device), entries.to(self.device)
            rows = self._rows()
            entries = (rows != self.indices).nonzero().squeeze(1)
            counts = torch.bincount(rows[entries], minlength=self.shape[0])
            indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
            return SparseStructure(indptr, self.indices[entries], self.shape), entries

    def _rows(self) -> Tensor:
        numbers = torch.arange(self.shape[0], device=self.device)
        return torch.repeat_interleave(numbers, self.indptr.diff(), output_size=self.num_entries)

    def with_ones(self) -> SparseMatrix:
        """One at every entry, in double precision."""
        return SparseMatrix(self, torch.ones(self.num_entries, dtype=torch.double, device=self.device))

    def equals(self, other: SparseStructure) -> bool:
        """Whether both have the same entries."""
        same_rows = self.shape == other.shape and torch.equal(self.indptr, other.indptr)
        return same_rows and torch.equal(self.indices, other.indices)

    def at_rows(self, rows: Tensor) -> tuple[SparseStructure, Tensor]:
        """The structure of these rows alone, and the positions of its entries among all."""
        starts, counts = self.indptr[rows], self.indptr[rows + 1] - self.indptr[rows]
        indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        shifts = torch.repeat_interleave(starts - indptr[:-1], counts)
        entries = torch.arange(len(shifts), device=self.device) + shifts
        return SparseStructure(indptr, self.indices[entries], (len(rows), self.shape[1])), entries

    def at_columns(self, columns: Tensor) -> SparseStructure:
        """The structure over these columns alone, which are sorted and hold every entry."""
        number = torch.empty(self.shape[1], dtype=torch.long, device=self.device)
        number[columns] = torch.arange(len(columns), device=self.device)
        return SparseStructure(self.indptr, number[self.indices], (self.shape[0], len(columns)))


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A structure and the value of each entry, (entries,). Never made dense."""

    structure: SparseStructure
    values: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        return self.structure.shape

    def to(self, device: torch.device | str) -> SparseMatrix:
        """The same matrix on this device."""
        return SparseMatrix(self.structure.to(device), self.values.to(device))

    def with_values(self, values: Tensor) -> SparseMatrix:
        """The same structure with other values."""
        return SparseMatrix(self.structure, values)

    def to_scipy(self) -> sp.csr_array:
        """The same matrix in scipy, sharing its memory."""
        arrays = self.structure.indices.numpy(), self.structure.indptr.numpy()
        return sp.csr_array((self.values.numpy(), *arrays), shape=self.shape)

    def at_rows(self, rows: Tensor) -> SparseMatrix:
        """These rows alone."""
        structure, entries = self.structure.at_rows(rows)
        return SparseMatrix(structure, self.values[entries])

    def row_sums(self) -> Tensor:
        """The sum of each row, (rows,)."""
        return self.values.new_zeros(self.shape[0]).index_add_(0, self.structure.rows, self.values)


def rows_of(features: Tensor | SparseMatrix, nodes: Tensor) -> Tensor | SparseMatrix:
    """The features of these nodes, which may occur more than once."""
    return features.at_rows(nodes) if isinstance(features, SparseMatrix) else features.index_select(0, nodes)
