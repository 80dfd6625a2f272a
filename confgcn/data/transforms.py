"""Scale the features of a graph, as a preset chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

FeatureScaling = Literal["none", "rows", "unit", "columns", "auto"]

Features = Tensor | SparseMatrix

BLOCK_ROWS = 65_536  # of dense features that are held in double precision: a sum of float32 numbers can overflow
CONSTANT = 1e-12  # variance over mean square: below it, float32 numbers count as equal


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """Of the features of a whole graph, to scale a shard of it: ``mean`` and ``deviation`` (F,)."""

    suited_scaling: Literal["rows", "columns"]
    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, features: Features) -> ColumnStatistics:
        return cls(suited_scaling(features), *_moments(features))


def scale_features(graph: Graph, how: FeatureScaling, *, fitted_on: Graph | ColumnStatistics | None = None) -> Graph:
    """``rows``: divide each row by the sum of its absolute values, ``unit``: by its Euclidean length.

    ``columns``: subtract the mean of every column and divide by its standard deviation; sparse features are only
    divided, so that zeros stay zero. ``auto``: ``rows`` or ``columns``, by :func:`suited_scaling`. Means and deviations
    are those of ``fitted_on``, by default of the graph itself. Rows of zeros and constant columns become zero.
    """
    reference = fitted_on if isinstance(fitted_on, ColumnStatistics) else (fitted_on or graph).features
    if how == "auto":
        how = reference.suited_scaling if isinstance(reference, ColumnStatistics) else suited_scaling(reference)
    if how == "none":
        return graph
    if how == "columns":
        fitted = (
            (reference.mean, reference.deviation) if isinstance(reference, ColumnStatistics) else _moments(reference)
        )
        return graph.with_features(_scaled_columns(graph.features, *fitted))
    return graph.with_features(_scaled_rows(graph.features, 1 if how == "rows" else 2))


def suited_scaling(features: Features) -> Literal["rows", "columns"]:
    """``columns`` if some column has its own unit of measurement, ``rows`` if all are alike, as word counts are.

    A column has its own unit if it has negative values, or if more than half of its values are positive and some exceed
    one.
    """
    values = features.values if isinstance(features, SparseMatrix) else features
    if any((block < 0).any() for block in values.split(BLOCK_ROWS)):
        return "columns"
    used, large = _count_in_columns(features, above=0.0), _count_in_columns(features, above=1.0)
    return "columns" if bool(((2 * used > features.shape[0]) & (large > 0)).any()) else "rows"


def _count_in_columns(features: Features, *, above: float) -> Tensor:
    if isinstance(features, SparseMatrix):
        return torch.bincount(features.structure.indices[features.values > above], minlength=features.shape[1])
    return torch.stack([(rows > above).sum(0) for rows in features.split(BLOCK_ROWS)]).sum(0)


def column_means(features: Features) -> Tensor:
    """The mean of every column, (F,)."""
    return _moments(features)[0]


def _scaled_rows(features: Features, power: int) -> Features:
    if isinstance(features, SparseMatrix):
        values = features.values.double()  # a sum of float32 numbers can overflow
        sums = features.with_values(values.abs() ** power).row_sums()[features.structure.rows]
        return features.with_values(_divided(values, sums ** (1 / power)).to(features.values.dtype))
    return _in_blocks(features, lambda rows: _divided(rows, _norms(rows, power)))


def _norms(rows: Tensor, power: int) -> Tensor:
    norms: Tensor = (rows.abs() ** power).sum(1, keepdim=True) ** (1 / power)
    return norms


def _scaled_columns(features: Features, mean: Tensor, deviation: Tensor) -> Features:
    if isinstance(features, SparseMatrix):
        values = _divided(features.values.double(), deviation[features.structure.indices])
        return features.with_values(values.to(features.values.dtype))
    return _in_blocks(features, lambda rows: _divided(rows - mean, deviation))


def _moments(features: Features) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of every column, (F,) each; the deviation of a constant column is zero."""
    if isinstance(features, SparseMatrix):
        values, columns = features.values.double(), features.structure.indices
        mean, square = (_column_sums(v, columns, features.shape) / features.shape[0] for v in (values, values.square()))
    else:
        mean, square = (torch.zeros(features.shape[1], dtype=torch.double) for _ in range(2))
        for rows in _blocks(features):
            mean += rows.sum(0) / features.shape[0]
            square += rows.square().sum(0) / features.shape[0]
    variance = square - mean.square()
    return mean, torch.where(variance > CONSTANT * square, variance, 0.0).sqrt()


def _in_blocks(features: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply a function to blocks of rows in double precision; only one block is held in double precision."""
    changed = torch.empty_like(features)
    first = 0
    for rows in _blocks(features):
        changed[first : first + len(rows)] = change(rows)
        first += len(rows)
    return changed


def _blocks(features: Tensor) -> Iterator[Tensor]:
    return (block.double() for block in features.split(BLOCK_ROWS))


def _column_sums(values: Tensor, columns: Tensor, shape: tuple[int, int]) -> Tensor:
    return values.new_zeros(shape[1]).index_add_(0, columns, values)


def _divided(values: Tensor, norms: Tensor) -> Tensor:
    return torch.where(norms > 0, values / norms, 0.0)
