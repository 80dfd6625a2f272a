"""Quantiles by counting, groups by hand, and coverage over many draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence.conformity import Score, label_scores
from confgcn.confidence.prediction_sets import (
    PredictionSets,
    conformal_quantile,
    degree_groups,
    fewest_scores,
    group_quantiles,
    merged_groups,
)
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph


def drawn_graph(count: int, seed: int) -> tuple[Graph, Tensor]:
    """Labels drawn from probabilities that are then blurred: a model that is badly calibrated."""
    random = np.random.default_rng(seed)
    logits = 2 * random.normal(size=(count, 4))
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = (true.cumsum(1) < random.random((count, 1))).sum(1).clip(max=3)
    edges = random.integers(0, count, size=(2 * count, 2))
    graph = Graph.build(edges, np.ones((count, 1)), labels, class_names="abcd")
    return graph, torch.from_numpy(0.5 * logits).softmax(1)


@pytest.mark.parametrize(
    ("count", "coverage", "place"), [(9, 0.9, 9), (19, 0.95, 19), (20, 0.9, 19), (3, 0.5, 2), (99, 0.55, 55)]
)
def test_the_quantile_is_a_counted_score(count: int, coverage: float, place: int) -> None:
    scores = torch.randperm(count).double() + 1
    assert conformal_quantile(scores, coverage) == place


def test_too_few_scores_have_an_infinite_quantile() -> None:
    assert conformal_quantile(torch.arange(8.0), 0.9) == math.inf
    assert conformal_quantile(torch.empty(0), 0.5) == math.inf


@pytest.mark.parametrize("coverage", [0.0, 1.0, 90])
def test_coverage_is_a_share(coverage: float) -> None:
    with pytest.raises(UsageError, match=f"coverage = {coverage}: expected a share between 0 and 1"):
        conformal_quantile(torch.ones(3), coverage)


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ([10, 12, 15], [0, 1, 2]),
        ([4, 6, 10, 3], [0, 0, 1, 1]),
        ([0, 0, 10, 0], [0, 0, 0, 0]),
        ([3, 2, 1], [0, 0, 0]),
        ([10, 9], [0, 0]),
    ],
)
def test_small_groups_join_the_next(sizes: list[int], merged: list[int]) -> None:
    assert merged_groups(torch.tensor(sizes), 10).tolist() == merged


def test_the_least_size_of_a_group() -> None:
    assert [fewest_scores(coverage) for coverage in (0.5, 0.9, 0.95, 0.99)] == [2, 10, 20, 100]


def test_each_group_has_the_quantile_of_its_own_scores() -> None:
    scores = torch.rand(60, dtype=torch.float64)
    group = torch.tensor([0] * 25 + [1] * 4 + [2] * 6 + [3] * 25)
    found = group_quantiles(scores, group, 4, 0.8)
    expected = [conformal_quantile(part, 0.8) for part in (scores[:25], scores[25:35], scores[25:35], scores[35:])]
    assert found.tolist() == expected


def test_degree_groups_are_quartiles_and_equal_degrees_stay_together(six_nodes: Graph) -> None:
    assert six_nodes.degrees.tolist() == [2, 3, 2, 2, 1, 0]
    everyone = degree_groups(six_nodes, torch.arange(6))
    assert everyone.tolist() == [1, 3, 1, 1, 0, 0]  # boundaries 1, 2, 2
    assert degree_groups(six_nodes, torch.tensor([0, 2])).tolist() == [0, 3, 0, 0, 0, 0]


def test_a_set_holds_every_label_up_to_the_quantile(six_nodes: Graph) -> None:
    probabilities = torch.tensor([[0.7, 0.2, 0.1]] * 5 + [[0.3, 0.4, 0.3]])
    fitted = PredictionSets.fit(six_nodes, probabilities, torch.tensor([0, 1, 4]), coverage=0.5, score="threshold")
    assert fitted.quantiles.tolist() == pytest.approx([0.3])  # scores 0.3, 0.8, 0.3
    assert fitted.sets(six_nodes, probabilities, allow_empty=True).int().tolist() == [[1, 0, 0]] * 5 + [[0, 0, 0]]
    assert fitted.sets(six_nodes, probabilities).int().tolist() == [[1, 0, 0]] * 5 + [[0, 1, 0]]


def test_without_enough_labels_every_label_is_in(six_nodes: Graph) -> None:
    probabilities = torch.rand(6, 3)
    for nodes in (torch.tensor([0]), torch.empty(0, dtype=torch.long)):
        assert PredictionSets.fit(six_nodes, probabilities, nodes).sets(six_nodes, probabilities).all()


def test_one_class(six_nodes: Graph) -> None:
    graph = Graph.build([(0, 1)], np.eye(3), [0, 0, 0])
    probabilities = torch.ones(3, 1)
    assert PredictionSets.fit(graph, probabilities, torch.arange(3), coverage=0.5).sets(graph, probabilities).all()


@pytest.mark.parametrize("score", ["aps", "raps", "diffused", "threshold"])
def test_mean_coverage_is_what_was_asked_for(score: Score) -> None:
    covered = []
    for seed in range(60):
        graph, probabilities = drawn_graph(400, seed)
        nodes = torch.arange(199)
        fitted = PredictionSets.fit(graph, probabilities, nodes, coverage=0.85, score=score, seed=seed)
        sets = fitted.sets(graph, probabilities, allow_empty=True)
        covered.append(float(sets.gather(1, graph.labels[:, None])[199:].double().mean()))
    assert np.mean(covered) == pytest.approx(0.85, abs=3 * np.std(covered) / math.sqrt(60))
    assert np.std(covered) < 0.05


def test_groups_are_covered_one_by_one() -> None:
    by_group, marginal = np.zeros(2), np.zeros(2)
    for seed in range(30):
        graph, probabilities = drawn_graph(400, seed)
        hard = torch.arange(400) % 2
        labels = torch.where(hard == 1, (graph.labels + torch.randint(0, 4, (400,))) % 4, graph.labels)
        graph = Graph.build(np.empty((0, 2), int), np.ones((400, 1)), labels.numpy(), class_names="abcd")
        for total, groups in ((by_group, hard), (marginal, None)):
            fitted = PredictionSets.fit(graph, probabilities, torch.arange(200), coverage=0.8, groups=groups)
            covered = fitted.sets(graph, probabilities, allow_empty=True).gather(1, graph.labels[:, None])[200:]
            total += [float(covered[hard[200:] == group].double().mean()) / 30 for group in (0, 1)]
    assert by_group.tolist() == pytest.approx([0.8, 0.8], abs=0.025)
    assert marginal[0] > 0.85
    assert marginal[1] < 0.75


def test_equal_probabilities_are_put_in_a_random_order(six_nodes: Graph) -> None:
    probabilities = torch.full((6, 3), 1 / 3)
    covered = []
    for seed in range(200):
        fitted = PredictionSets.fit(
            six_nodes, probabilities, torch.arange(3), coverage=0.5, score="threshold", seed=seed
        )
        covered.append(fitted.sets(six_nodes, probabilities, allow_empty=True)[5].double().mean())
    assert float(torch.stack(covered).mean()) == pytest.approx(0.5, abs=0.1)  # and not one, as lumps would give


def test_the_same_seed_gives_the_scores_it_was_fitted_with(six_nodes: Graph) -> None:
    probabilities = torch.rand(6, 3).softmax(1)
    fitted = PredictionSets.fit(six_nodes, probabilities, torch.arange(4), coverage=0.6, score="aps", seed=3)
    scores = label_scores(six_nodes, probabilities, "aps", seed=3)
    assert torch.equal(fitted.sets(six_nodes, probabilities, allow_empty=True), scores <= fitted.quantiles)


def test_nodes_without_a_label_are_refused() -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, -1])
    with pytest.raises(DataError, match="expected a label for each of the 2 nodes"):
        PredictionSets.fit(graph, torch.ones(2, 1), torch.arange(2))


def test_without_a_wish_nine_in_ten_are_covered_by_the_threshold_of_seed_zero() -> None:
    graph, probabilities = drawn_graph(100, 0)
    nodes = torch.arange(60)
    found = PredictionSets.fit(graph, probabilities, nodes)
    assert (found.score, found.coverage, found.seed, found.groups) == ("threshold", 0.9, 0, None)
    true = label_scores(graph, probabilities, "threshold", seed=0)[nodes, graph.labels[nodes]]
    assert found.quantiles.tolist() == [conformal_quantile(true, 0.9)]


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.5, 1.5])
def test_the_least_size_wants_a_share_too(coverage: float) -> None:
    with pytest.raises(UsageError, match=f"coverage = {coverage}: expected a share between 0 and 1"):
        fewest_scores(coverage)


def test_a_group_has_its_own_bound_and_the_last_one_counts() -> None:
    graph = Graph.build([], np.ones((40, 1)), [0, 1] * 20)
    groups = torch.arange(40) // 20
    likely = torch.where(groups == 0, 0.9, 0.6).double()
    right = torch.stack([likely, 1 - likely], 1)
    probabilities = torch.where(graph.labels[:, None] == 0, right, right.flip(1))
    fitted = PredictionSets.fit(graph, probabilities, torch.arange(40), coverage=0.5, groups=groups)
    assert fitted.quantiles.tolist() == pytest.approx([0.1, 0.4], abs=1e-6)
    assert fitted.groups is groups
