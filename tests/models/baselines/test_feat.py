"""Feat: a linear classifier of the features, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.feat import Feat
from confgcn.sparse import SparseMatrix

LABELS = [0, 1, 2, 1]


def random_weights(graph: Graph) -> Feat:
    method = Feat(Shape.of(graph))
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter)
    return method


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_logits_are_features_times_weight_plus_bias(sparse: bool) -> None:
    features = np.array([[1.0, 0, 2], [0, 0, 0], [0, -3, 0], [4, 5, 6]])
    graph = Graph.build([(0, 1)], sp.csr_matrix(features) if sparse else features, LABELS, train=[0])
    assert isinstance(graph.features, SparseMatrix) is sparse
    method = random_weights(graph)
    expected = torch.tensor(features, dtype=torch.float32) @ method.output.weight + method.output.bias
    torch.testing.assert_close(method(graph).logits, expected)
    torch.testing.assert_close(method(graph, torch.tensor([3, 0])).logits, expected[[3, 0]])


def test_edges_change_nothing() -> None:
    features = np.random.default_rng(0).normal(size=(4, 3))
    many, none = (Graph.build(edges, features, LABELS, train=[0]) for edges in ([(0, 1), (1, 2), (0, 3)], []))
    method = random_weights(many)
    assert torch.equal(method(many).logits, method(none).logits)


def test_only_the_weight_decays(six_nodes: Graph) -> None:
    method = Feat(Shape.of(six_nodes), weight_decay=0.1)
    decayed, others = method.parameter_groups()
    assert decayed["weight_decay"] == 0.1
    assert [id(parameter) for parameter in decayed["params"]] == [id(method.output.weight)]
    assert [id(parameter) for parameter in others["params"]] == [id(method.output.bias)]
    assert "weight_decay" not in others
