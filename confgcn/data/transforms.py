"""Changes to a graph's features that a preset asks for before any method sees them."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

FeatureScaling = Literal["none", "rows", "unit"]


def scale_features(graph: Graph, how: FeatureScaling) -> Graph:
    """``rows``: divide each row by the sum of its absolute values, ``unit``: by its Euclidean length.

    Rows of zeros stay zero.
    """
    if how == "none":
        return graph
    power = 1 if how == "rows" else 2
    features = graph.features
    if isinstance(features, SparseMatrix):
        values = features.values.double()  # a float32 sum can overflow where its parts do not
        sums = features.with_values(values.abs() ** power).row_sums()[features.structure.rows]
        return graph.with_features(features.with_values(_divided(values, sums ** (1 / power))))
    wide = features.double()
    sums = (wide.abs() ** power).sum(1, keepdim=True)
    return graph.with_features(_divided(wide, sums ** (1 / power)))


def _divided(values: Tensor, norms: Tensor) -> Tensor:
    return torch.where(norms > 0, values / norms, 0.0).float()
