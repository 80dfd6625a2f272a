"""Operators whose equations are not the model's own: dropout and the range of the softmax."""

from __future__ import annotations

import torch

from confgcn.graph import Graph
from confgcn.ops import dropout, normalise
from confgcn.sparse import SparseMatrix, SparseStructure


def test_softmax_survives_large_scores(six_nodes: Graph) -> None:
    weights = normalise(six_nodes.adjacency, torch.full((len(six_nodes.adjacency.indices),), 1e30), "softmax")
    assert torch.isfinite(weights).all()


def test_dropout_of_sparse_features_falls_on_stored_values_and_keeps_the_structure() -> None:
    structure = SparseStructure(torch.tensor([0, 10_000]), torch.arange(10_000), (1, 10_000))
    matrix = SparseMatrix(structure, torch.ones(10_000))
    torch.manual_seed(0)
    dropped = dropout(matrix, 0.75, training=True)
    assert isinstance(dropped, SparseMatrix)
    assert dropped.structure is structure
    assert set(dropped.values.unique().tolist()) == {0.0, 4.0}
    assert abs(float((dropped.values > 0).float().mean()) - 0.25) < 0.02


def test_dropout_does_nothing_outside_training() -> None:
    features = torch.ones(3, 2)
    assert dropout(features, 0.5, training=False) is features
    assert dropout(features, 0.0, training=True) is features
