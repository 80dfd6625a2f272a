"""Changes to a graph's features that a preset asks for before any method sees them."""

from __future__ import annotations

from typing import Literal

import torch

from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

FeatureScaling = Literal["none", "rows"]


def scale_features(graph: Graph, how: FeatureScaling) -> Graph:
    """``rows``: divide each row by the sum of its absolute values; rows of zeros stay zero."""
    if how == "none":
        return graph
    features = graph.features
    if isinstance(features, SparseMatrix):
        sums = features.with_values(features.values.abs()).row_sums()
        return graph.with_features(features.with_values(features.values * _inverse(sums)[features.structure.rows]))
    return graph.with_features(features * _inverse(features.abs().sum(1))[:, None])


def _inverse(sums: torch.Tensor) -> torch.Tensor:
    return torch.where(sums > 0, 1.0 / sums.clamp(min=torch.finfo(sums.dtype).tiny), torch.zeros_like(sums))
