"""New nodes: initial values, solution, and unchanged rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn import new_nodes
from confgcn.models.confgcn.consensus import ConsensusConfGCN
from confgcn.models.confgcn.label_distribution import LabelDistribution
from confgcn.models.confgcn.new_nodes import log_scores, start_from_neighbours, unchanged
from confgcn.models.registry import method_class
from confgcn.ops import softmax


def start(distribution: LabelDistribution, graph: Graph, new: list[int]) -> None:
    start_from_neighbours(
        distribution, graph, torch.tensor(new), scores=softmax, raw=log_scores, precision=torch.sigmoid
    )


def with_ids(graph: Graph, *, new: list[int]) -> Graph:
    """The graph in which these nodes are new."""
    ids = torch.empty(graph.num_nodes, dtype=torch.long)
    known = [node for node in range(graph.num_nodes) if node not in new]
    ids[known] = torch.arange(len(known))
    ids[new] = torch.arange(len(known), graph.num_nodes)
    return replace(graph, node_ids=ids)


def test_a_new_node_starts_from_the_mean_of_its_neighbours_by_their_precision(six_nodes: Graph) -> None:
    graph = with_ids(six_nodes, new=[1])  # whose neighbours are 0, 2 and 3
    distribution = LabelDistribution(Shape.of(six_nodes))
    with torch.no_grad():
        distribution.raw_mu.normal_()
        distribution.raw_precision.normal_()
    others = graph.node_ids[[0, 2, 3]]
    score, weight = distribution.raw_mu[others].softmax(1), distribution.raw_precision[others].sigmoid()
    start(distribution, graph, [1])
    row = graph.node_ids[1]
    expected = (weight * score).sum(0) / weight.sum(0)
    torch.testing.assert_close(distribution.raw_mu[row].exp(), expected)
    torch.testing.assert_close(distribution.raw_precision[row], distribution.raw_precision[others].mean(0))


def test_scores_that_are_free_are_averaged_as_they_are(six_nodes: Graph) -> None:
    graph = with_ids(six_nodes, new=[4])  # whose neighbour is 0
    distribution = LabelDistribution(Shape.of(six_nodes))
    torch.nn.init.normal_(distribution.raw_mu)
    transforms = {"scores": unchanged, "raw": unchanged, "precision": unchanged}
    start_from_neighbours(distribution, graph, torch.tensor([4]), **transforms)
    torch.testing.assert_close(distribution.raw_mu[graph.node_ids[4]], distribution.raw_mu[graph.node_ids[0]])


def test_rows_are_set_outwards_and_unconnected_nodes_have_equal_scores(six_nodes: Graph) -> None:
    graph = with_ids(six_nodes, new=[0, 4, 5])  # 4 is connected to 0, 5 is isolated
    distribution = LabelDistribution(Shape.of(six_nodes))
    with torch.no_grad():
        distribution.raw_mu.normal_()
    start(distribution, graph, [0, 4, 5])
    mu = distribution.raw_mu[graph.node_ids].softmax(1)
    torch.testing.assert_close(mu[0], mu[1])  # the only known neighbour of 0 is 1
    torch.testing.assert_close(mu[4], mu[0])
    torch.testing.assert_close(mu[5], torch.full((3,), 1 / 3))


def test_extending_changes_only_the_rows_of_new_nodes(small_graph: Graph) -> None:
    graph = with_ids(small_graph, new=[3, 17, 80])
    method = ConsensusConfGCN(Shape(117, small_graph.num_features, 4))
    before = {name: value.clone() for name, value in method.state_dict().items()}
    extended = method.extend(graph.training_view())
    for name, value in method.state_dict().items():
        assert torch.equal(value, before[name])
    for name, value in extended.state_dict().items():
        assert torch.equal(value[: len(before[name])], before[name])
    assert len(extended.label_distribution.raw_mu) == 120
    assert extended.predict(graph.training_view()).logits.isfinite().all()


def test_solving_lowers_the_loss_of_the_new_rows(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = with_ids(small_graph, new=[3, 17, 80]).training_view()
    method = ConsensusConfGCN(Shape(117, small_graph.num_features, 4), dropout=0.0, node_dropout=0.0)

    def loss_after(steps: int) -> float:
        monkeypatch.setattr(new_nodes, "STEPS", steps)
        extended = method.extend(graph)
        extended.training = True
        terms = extended.loss_terms(graph, extended(graph))
        return sum(term.value().item() for term in terms.values())

    assert loss_after(30) < loss_after(5) < loss_after(0)


def test_nodes_out_of_reach_change_nothing(small_graph: Graph) -> None:
    graph = with_ids(small_graph, new=[3]).training_view()
    method = ConsensusConfGCN(Shape(119, small_graph.num_features, 4), steps=1)
    assert method.reach == 1
    far = torch.ones(120, dtype=torch.bool)
    far[graph.adjacency.indices[graph.adjacency.indptr[3] : graph.adjacency.indptr[4]]] = False
    changed = graph.with_features(graph.features + far[:, None] * 5.0)
    rows = [method.extend(g).label_distribution.raw_mu[-1] for g in (graph, changed)]
    assert torch.equal(*rows)


def test_without_terms_a_node_stays_at_the_mean_of_its_neighbours(six_nodes: Graph) -> None:
    graph = with_ids(six_nodes, new=[4]).training_view()
    nothing = {"lambda_smooth": 0.0, "lambda_const": 0.0, "lambda_reg": 0.0}
    method = ConsensusConfGCN(Shape(5, 4, 3), **nothing)
    extended = method.extend(graph)
    mu = extended.label_distribution.raw_mu[graph.node_ids].softmax(1)
    torch.testing.assert_close(mu[4], mu[0])


@pytest.mark.parametrize("preset", ["consensus", "released", "paper"])
def test_every_preset_can_be_extended(preset: str, small_graph: Graph) -> None:
    graph = with_ids(small_graph, new=[0, 119]).training_view()
    method = method_class("confgcn", preset)(Shape(118, small_graph.num_features, 4))
    assert method.extend(graph).predict(graph).logits.isfinite().all()


def test_a_method_with_results_of_single_nodes_refuses(six_nodes: Graph) -> None:
    with pytest.raises(UsageError, match="train again"):
        method_class("label_propagation")(Shape.of(six_nodes)).extend(six_nodes)
    gcn = method_class("gcn")(Shape.of(six_nodes))
    assert gcn.extend(six_nodes) is gcn
