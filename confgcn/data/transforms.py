"""Changes to a graph's features that a preset asks for before any method sees them."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

FeatureScaling = Literal["none", "rows", "unit", "columns", "auto"]

Features = Tensor | SparseMatrix

SAME = 1e-12  # share of the variance in the mean square, below which float32 numbers are the same


def scale_features(graph: Graph, how: FeatureScaling, *, fitted_on: Graph | None = None) -> Graph:
    """``rows``: divide each row by the sum of its absolute values, ``unit``: by its Euclidean length.

    ``columns``: every column has mean zero and deviation one (sparse ones keep their zeros and are only divided).
    ``auto``: ``rows`` or ``columns``, by :func:`suited_scaling`. What columns go by is taken from ``fitted_on``, by
    default the graph itself. Rows of zeros stay zero, and so do columns that are the same for all.
    """
    reference = (graph if fitted_on is None else fitted_on).features
    how = suited_scaling(reference) if how == "auto" else how
    if how == "none":
        return graph
    if how == "columns":
        return graph.with_features(_scaled_columns(graph.features, reference))
    return graph.with_features(_scaled_rows(graph.features, 1 if how == "rows" else 2))


def suited_scaling(features: Features) -> Literal["rows", "columns"]:
    """``columns`` where some column has a unit of its own, ``rows`` where all count or weigh alike, as words do.

    A column has one if it holds negative numbers, or is other than zero for more than half of the nodes and somewhere
    above one.
    """
    values = features.values if isinstance(features, SparseMatrix) else features
    if (values < 0).any():
        return "columns"
    used, large = _count_in_columns(features, above=0.0), _count_in_columns(features, above=1.0)
    return "columns" if bool(((2 * used > features.shape[0]) & (large > 0)).any()) else "rows"


def _count_in_columns(features: Features, *, above: float) -> Tensor:
    if isinstance(features, SparseMatrix):
        return torch.bincount(features.structure.indices[features.values > above], minlength=features.shape[1])
    return (features > above).sum(0)


def column_means(features: Features) -> Tensor:
    """The mean of every column, (F,)."""
    return _moments(features)[0]


def _scaled_rows(features: Features, power: int) -> Features:
    if isinstance(features, SparseMatrix):
        values = features.values.double()  # a float32 sum can overflow where its parts do not
        sums = features.with_values(values.abs() ** power).row_sums()[features.structure.rows]
        return features.with_values(_divided(values, sums ** (1 / power)))
    wide = features.double()
    sums = (wide.abs() ** power).sum(1, keepdim=True)
    return _divided(wide, sums ** (1 / power))


def _scaled_columns(features: Features, reference: Features) -> Features:
    mean, deviation = _moments(reference)
    if isinstance(features, SparseMatrix):
        return features.with_values(_divided(features.values.double(), deviation[features.structure.indices]))
    return _divided(features.double() - mean, deviation)


def _moments(features: Features) -> tuple[Tensor, Tensor]:
    """Mean and deviation of every column, (F,) each; the deviation is zero where the numbers are the same."""
    if isinstance(features, SparseMatrix):
        values, columns = features.values.double(), features.structure.indices
        mean, square = (_column_sums(v, columns, features.shape) / features.shape[0] for v in (values, values.square()))
    else:
        wide = features.double()
        mean, square = wide.mean(0), wide.square().mean(0)
    variance = square - mean.square()
    return mean, torch.where(variance > SAME * square, variance, 0.0).sqrt()


def _column_sums(values: Tensor, columns: Tensor, shape: tuple[int, int]) -> Tensor:
    return values.new_zeros(shape[1]).index_add_(0, columns, values)


def _divided(values: Tensor, norms: Tensor) -> Tensor:
    return torch.where(norms > 0, values / norms, 0.0).float()
