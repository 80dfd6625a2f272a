"""Properties of a graph that its user should know about, as sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from confgcn.io.blocks import blocks_of_rows
from confgcn.sparse import SparseMatrix

if TYPE_CHECKING:
    from confgcn.graph.graph import Graph

MAX_CLASSES_LISTED = 10


def edge_notices(graph: Graph) -> list[str]:
    """What was changed in the edge list, and isolated nodes."""
    counts = graph.edge_counts
    isolated = int((graph.degrees == 0).sum())
    return [
        *([f"{counts.duplicates} duplicate edges merged"] if counts.duplicates else []),
        *([f"{counts.loops} self loops replaced by the one that every node gets"] if counts.loops else []),
        *(
            [f"{counts.one_way} edges listed in one direction: edges are treated as undirected"]
            if counts.one_way
            else []
        ),
        *([f"{isolated} isolated nodes: they have no neighbours"] if isolated else []),
    ]


def feature_notices(graph: Graph) -> list[str]:
    """Nodes without features and columns without information."""
    features = graph.features
    if isinstance(features, SparseMatrix):
        constant = int((torch.bincount(features.structure.indices, minlength=graph.num_features) == 0).sum())
    else:
        constant = int(_is_constant(features).sum())
    empty = int(has_no_features(features).sum())
    return [
        *([f"{empty} nodes have no feature other than zero"] if empty else []),
        *([f"{constant} feature columns are the same for every node"] if constant else []),
    ]


def label_notices(graph: Graph) -> list[str]:
    """Nothing left to predict, or held-out classes that have no training label."""
    if len(graph.train) == graph.num_nodes:
        return [f"all {graph.num_nodes:,} nodes are trained on: nothing is left to predict"]
    trained = set(graph.labels[graph.train].unique().tolist())
    held_out = set(graph.labels[torch.cat([graph.validation, graph.test])].unique().tolist()) - {-1}
    missing = [graph.class_names[c] for c in sorted(held_out - trained)]
    if not len(graph.train) or not missing:
        return []
    more = f", ... ({len(missing):,} in all)" if len(missing) > MAX_CLASSES_LISTED else ""
    listed = ", ".join(missing[:MAX_CLASSES_LISTED])
    return [f"classes without a training label, which cannot be learned: {listed}{more}"]


def has_no_features(features: Tensor | SparseMatrix) -> Tensor:
    """Whether all features of a node are zero, (N,)."""
    if isinstance(features, SparseMatrix):
        return features.with_values(features.values.abs()).row_sums() == 0
    return torch.cat([(features[rows] == 0).all(1) for rows in blocks_of_rows(*features.shape)])


def _is_constant(features: Tensor) -> Tensor:
    """Whether a column has the same value for every node, (F,)."""
    same = torch.ones(features.shape[1], dtype=torch.bool, device=features.device)
    for rows in blocks_of_rows(*features.shape):
        same &= (features[rows] == features[0]).all(0)
    return same
