"""Changes to a graph's features that a preset asks for before any method sees them."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

FeatureScaling = Literal["none", "rows"]


def scale_features(graph: Graph, how: FeatureScaling) -> Graph:
    """``rows``: divide each row by the sum of its absolute values; rows of zeros stay zero."""
    if how == "none":
        return graph
    features = graph.features
    if isinstance(features, SparseMatrix):
        values = features.values.double()  # a float32 sum can overflow where its parts do not
        sums = features.with_values(values.abs()).row_sums()[features.structure.rows]
        return graph.with_features(features.with_values(_divided(values, sums)))
    wide = features.double()
    return graph.with_features(_divided(wide, wide.abs().sum(1, keepdim=True)))


def _divided(values: Tensor, sums: Tensor) -> Tensor:
    return torch.where(sums > 0, values / sums, 0.0).float()
