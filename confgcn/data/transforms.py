"""Changes to a graph's features that a preset asks for before any method sees them."""

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

ROWS_AT_ONCE = 65_536  # of dense features, in double precision: a float32 sum can overflow where its parts do not
SAME = 1e-12  # share of the variance in the mean square, below which float32 numbers are the same


@dataclass(frozen=True, eq=False)
class Columns:
    """What the columns of a whole graph's features are like, for a part of it: ``mean`` and ``deviation`` (F,)."""

    suited: Literal["rows", "columns"]
    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, features: Features) -> Columns:
        return cls(suited_scaling(features), *_moments(features))


def scale_features(graph: Graph, how: FeatureScaling, *, fitted_on: Graph | Columns | None = None) -> Graph:
    """``rows``: divide each row by the sum of its absolute values, ``unit``: by its Euclidean length.

    ``columns``: every column has mean zero and deviation one (sparse ones keep their zeros and are only divided).
    ``auto``: ``rows`` or ``columns``, by :func:`suited_scaling`. What columns go by is taken from ``fitted_on``, by
    default the graph itself. Rows of zeros stay zero, and so do columns that are the same for all.
    """
    reference = fitted_on if isinstance(fitted_on, Columns) else (fitted_on or graph).features
    if how == "auto":
        how = reference.suited if isinstance(reference, Columns) else suited_scaling(reference)
    if how == "none":
        return graph
    if how == "columns":
        fitted = (reference.mean, reference.deviation) if isinstance(reference, Columns) else _moments(reference)
        return graph.with_features(_scaled_columns(graph.features, *fitted))
    return graph.with_features(_scaled_rows(graph.features, 1 if how == "rows" else 2))


def suited_scaling(features: Features) -> Literal["rows", "columns"]:
    """``columns`` where some column has a unit of its own, ``rows`` where all count or weigh alike, as words do.

    A column has one if it holds negative numbers, or is other than zero for more than half of the nodes and somewhere
    above one.
    """
    values = features.values if isinstance(features, SparseMatrix) else features
    if any((some < 0).any() for some in values.split(ROWS_AT_ONCE)):
        return "columns"
    used, large = _count_in_columns(features, above=0.0), _count_in_columns(features, above=1.0)
    return "columns" if bool(((2 * used > features.shape[0]) & (large > 0)).any()) else "rows"


def _count_in_columns(features: Features, *, above: float) -> Tensor:
    if isinstance(features, SparseMatrix):
        return torch.bincount(features.structure.indices[features.values > above], minlength=features.shape[1])
    return torch.stack([(rows > above).sum(0) for rows in features.split(ROWS_AT_ONCE)]).sum(0)


def column_means(features: Features) -> Tensor:
    """The mean of every column, (F,)."""
    return _moments(features)[0]


def _scaled_rows(features: Features, power: int) -> Features:
    if isinstance(features, SparseMatrix):
        values = features.values.double()  # a float32 sum can overflow where its parts do not
        sums = features.with_values(values.abs() ** power).row_sums()[features.structure.rows]
        return features.with_values(_divided(values, sums ** (1 / power)))
    return _in_blocks(features, lambda rows: _divided(rows, _norms(rows, power)))


def _norms(rows: Tensor, power: int) -> Tensor:
    norms: Tensor = (rows.abs() ** power).sum(1, keepdim=True) ** (1 / power)
    return norms


def _scaled_columns(features: Features, mean: Tensor, deviation: Tensor) -> Features:
    if isinstance(features, SparseMatrix):
        return features.with_values(_divided(features.values.double(), deviation[features.structure.indices]))
    return _in_blocks(features, lambda rows: _divided(rows - mean, deviation))


def _moments(features: Features) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every column, (F,) each; the deviation is zero where the numbers are the same."""
    if isinstance(features, SparseMatrix):
        values, columns = features.values.double(), features.structure.indices
        mean, square = (_column_sums(v, columns, features.shape) / features.shape[0] for v in (values, values.square()))
    else:
        mean, square = (torch.zeros(features.shape[1], dtype=torch.double) for _ in range(2))
        for rows in _blocks(features):
            mean += rows.sum(0) / features.shape[0]
            square += rows.square().sum(0) / features.shape[0]
    variance = square - mean.square()
    return mean, torch.where(variance > SAME * square, variance, 0.0).sqrt()


def _in_blocks(features: Tensor, change: Callable[[Tensor], Tensor]) -> Tensor:
    """What a change that takes rows in double precision makes of them, without a copy of all that is as wide."""
    changed = torch.empty(features.shape, dtype=torch.float32)
    first = 0
    for rows in _blocks(features):
        changed[first : first + len(rows)] = change(rows)
        first += len(rows)
    return changed


def _blocks(features: Tensor) -> Iterator[Tensor]:
    return (part.double() for part in features.split(ROWS_AT_ONCE))


def _column_sums(values: Tensor, columns: Tensor, shape: tuple[int, int]) -> Tensor:
    return values.new_zeros(shape[1]).index_add_(0, columns, values)


def _divided(values: Tensor, norms: Tensor) -> Tensor:
    return torch.where(norms > 0, values / norms, 0.0).float()
