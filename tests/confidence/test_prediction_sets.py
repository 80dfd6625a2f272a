"""Label scores, quantiles, sets and their coverage, by hand and over many draws."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence.prediction_sets import (
    RANK_PENALTY,
    PredictionSets,
    Score,
    adaptive_scores,
    conformal_quantile,
    coverage_report,
    degree_groups,
    fewest_scores,
    group_quantiles,
    label_scores,
    merged_groups,
    node_draws,
    rank_penalty,
)
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph


def drawn_graph(count: int, seed: int, *, classes: int = 4) -> tuple[Graph, Tensor]:
    """Labels drawn from probabilities that are then blurred: a poorly calibrated model."""
    random = np.random.default_rng(seed)
    logits = 2 * random.normal(size=(count, classes))
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = (true.cumsum(1) < random.random((count, 1))).sum(1).clip(max=classes - 1)
    edges = random.integers(0, count, size=(2 * count, 2))
    graph = Graph.build(edges, np.ones((count, 1)), labels, class_names="abcdefgh"[:classes])
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
def test_mean_coverage_is_the_target(score: Score) -> None:
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


PROBABILITIES = torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [1.0, 0, 0]])


@pytest.fixture
def path() -> Graph:
    """0 - 1 - 2, and 3 alone."""
    return Graph.build([(0, 1), (1, 2)], np.eye(4), [0, 1, 2, 0])


def test_adaptive_scores_sum_more_probable_labels_and_a_share_of_the_own() -> None:
    found = adaptive_scores(PROBABILITIES[:2], torch.tensor([0.0, 0.5], dtype=torch.float64))
    expected = torch.tensor([[0.0, 0.8, 0.5], [0.95, 0.3, 0.75]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, atol=1e-7, rtol=0)


def test_the_penalty_grows_with_the_rank() -> None:
    expected = RANK_PENALTY * torch.tensor([[0.0, 2, 1], [2, 0, 1]])
    torch.testing.assert_close(rank_penalty(PROBABILITIES[:2]), expected)


def test_the_scores_by_name(path: Graph) -> None:
    own = adaptive_scores(PROBABILITIES, node_draws(path, 5))
    scores = {name: label_scores(path, PROBABILITIES, name, seed=5) for name in ("aps", "raps", "diffused")}
    torch.testing.assert_close(label_scores(path, PROBABILITIES, "threshold"), 1 - PROBABILITIES.double())
    torch.testing.assert_close(scores["aps"], own)
    torch.testing.assert_close(scores["raps"], own + rank_penalty(PROBABILITIES))
    around = torch.stack([own[1], (own[0] + own[2]) / 2, own[1], own[3]])
    torch.testing.assert_close(scores["diffused"], (own + around) / 2)


@pytest.mark.parametrize("score", ["aps", "diffused"])
def test_a_node_keeps_its_draw_wherever_it_stands(path: Graph, score: Score) -> None:
    order = torch.tensor([2, 3, 0, 1])
    twin = Graph.build([(2, 3), (3, 0)], np.eye(4), [2, 0, 0, 1])
    twin = replace(twin, node_ids=order)
    found = label_scores(twin, PROBABILITIES[order], score)
    torch.testing.assert_close(found, label_scores(path, PROBABILITIES, score)[order])
    assert not torch.allclose(found, label_scores(twin, PROBABILITIES[order], score, seed=1))


def test_the_default_stream_is_not_touched(path: Graph) -> None:
    before = torch.get_rng_state()
    label_scores(path, PROBABILITIES, "aps")
    assert torch.equal(torch.get_rng_state(), before)


def test_what_can_not_be_scored(path: Graph) -> None:
    with pytest.raises(UsageError, match="unknown score 'asp': did you mean 'aps'"):
        label_scores(path, PROBABILITIES, "asp")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"expected \(4, 3\).* got \(3, 3\)"):
        label_scores(path, PROBABILITIES[:3], "aps")


def test_each_score_in_numbers(path: Graph) -> None:
    draws = node_draws(path, 0)
    assert draws.tolist() == torch.rand(4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).tolist()
    u = float(draws[0])
    aps = [0.5 * u, 0.8 + 0.2 * u, 0.5 + 0.3 * u]
    other = float(draws[1])
    around = [0.9 + 0.1 * other, 0.6 * other, 0.6 + 0.3 * other]  # of node 1, the only neighbour of 0
    expected = {
        "aps": aps,
        "raps": [aps[0], aps[1] + 0.2, aps[2] + 0.1],
        "diffused": [(a + b) / 2 for a, b in zip(aps, around, strict=True)],
        "threshold": [0.5 + 1e-9 * u, 0.8 + 1e-9 * u, 0.7 + 1e-9 * u],
    }
    for score, values in expected.items():
        found = label_scores(path, PROBABILITIES.double(), score)[0].tolist()
        assert found == pytest.approx(values, abs=1e-7)
    ties = label_scores(path, torch.full((4, 3), 0.5), "threshold") - 0.5
    assert ties[:, 0].tolist() == pytest.approx((1e-9 * draws).tolist(), rel=1e-4)


def test_a_graph_of_another_shape_is_refused(path: Graph) -> None:
    with pytest.raises(DataError, match=r"expected \(4, 3\), a row per node and a column per class, got \(4, 2\)"):
        label_scores(path, PROBABILITIES[:, :2], "threshold")


def test_ids_beyond_the_number_of_nodes_have_draws_of_their_own(path: Graph) -> None:
    part = replace(path, node_ids=torch.tensor([9, 2, 4, 0]))
    all_draws = torch.rand(10, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    assert torch.equal(node_draws(part, 3), all_draws[[9, 2, 4, 0]])


def test_one_draw_by_hand() -> None:
    graph, probabilities = drawn_graph(60, 0, classes=3)
    nodes = torch.arange(10, 60)
    report = coverage_report(
        graph, probabilities, nodes, draws=1, calibration_size=30, coverage=0.8, score="aps", seed=4
    )
    order = torch.randperm(50, generator=torch.Generator().manual_seed(4))
    calibration, rest = nodes[order[:30]], nodes[order[30:]]
    scores = label_scores(graph, probabilities, "aps", seed=4)
    true = scores[torch.arange(60), graph.labels]
    bound = conformal_quantile(true[calibration], 0.8)
    sets = [{c for c in range(3) if float(scores[v, c]) <= bound} for v in rest.tolist()]
    labels = graph.labels[rest].tolist()
    assert report.coverage == pytest.approx(np.mean([y in s for y, s in zip(labels, sets, strict=True)]))
    assert report.coverage_std == 0.0
    assert report.size == pytest.approx(np.mean([len(s) for s in sets]))
    assert report.singleton_hits == pytest.approx(np.mean([s == {y} for y, s in zip(labels, sets, strict=True)]))
    group = degree_groups(graph, nodes)[rest].tolist()
    for number, share in enumerate(report.coverage_by_degree):
        inside = [y in s for y, s, g in zip(labels, sets, group, strict=True) if g == number]
        assert share == pytest.approx(np.mean(inside)) if inside else share is None


@pytest.mark.parametrize("by_degree", [False, True])
@pytest.mark.parametrize("score", get_args(Score))
def test_a_hundred_draws_reach_the_target_and_are_fast(score: Score, by_degree: bool) -> None:
    graph, probabilities = drawn_graph(1250, 0, classes=7)
    started = time.process_time()
    report = coverage_report(graph, probabilities, torch.arange(1250), score=score, by_degree=by_degree)
    assert time.process_time() - started < 1.5  # takes about 0.05 s
    assert report.coverage == pytest.approx(0.9, abs=0.01)
    assert 0.005 < report.coverage_std < 0.03
    if by_degree:
        assert report.coverage_by_degree == pytest.approx([0.9] * 4, abs=0.02)


def test_a_pool_that_is_too_small_is_refused() -> None:
    graph, probabilities = drawn_graph(20, 0, classes=2)
    with pytest.raises(DataError, match="calibration_size = 20: expected fewer than the 20 nodes"):
        coverage_report(graph, probabilities, torch.arange(20), calibration_size=20)


def test_without_a_wish_five_hundred_nodes_calibrate_a_hundred_times() -> None:
    graph, probabilities = drawn_graph(700, 0, classes=3)
    nodes = torch.arange(700)
    explicit = {"coverage": 0.9, "score": "threshold", "by_degree": False, "draws": 100, "calibration_size": 500}
    found = coverage_report(graph, probabilities, nodes)
    assert found == coverage_report(graph, probabilities, nodes, seed=0, **explicit)
    assert found != coverage_report(graph, probabilities, nodes, seed=1, **explicit)


@pytest.mark.parametrize("by_degree", [False, True])
def test_several_draws_by_hand(by_degree: bool) -> None:
    graph, probabilities = drawn_graph(90, 0, classes=3)
    nodes = torch.arange(90)
    given = {"draws": 3, "calibration_size": 40, "coverage": 0.7, "score": "threshold", "seed": 2}
    report = coverage_report(graph, probabilities, nodes, by_degree=by_degree, **given)
    scores = label_scores(graph, probabilities, "threshold", seed=2)
    true, group = scores[nodes, graph.labels], degree_groups(graph, nodes)
    count = int(group.max()) + 1
    generator = torch.Generator().manual_seed(2)
    means, sizes, hits, inside = [], [], [], [[] for _ in range(count)]
    for _ in range(3):
        order = torch.randperm(90, generator=generator)
        calibration, rest = order[:40], order[40:]
        if by_degree:
            bounds = group_quantiles(true[calibration], group[calibration], count, 0.7)[group]
        else:
            bounds = torch.full((90,), conformal_quantile(true[calibration], 0.7), dtype=torch.float64)
        covered = {v: bool(true[v] <= bounds[v]) for v in rest.tolist()}
        size = {v: int((scores[v] <= bounds[v]).sum()) for v in covered}
        means.append(np.mean(list(covered.values())))
        sizes.append(np.mean(list(size.values())))
        hits.append(np.mean([covered[v] and size[v] == 1 for v in covered]))
        for v in covered:
            inside[int(group[v])].append(covered[v])
    assert report.coverage == pytest.approx(np.mean(means))
    assert report.coverage_std == pytest.approx(np.std(means))
    assert report.coverage_std > 0
    assert report.size == pytest.approx(np.mean(sizes))
    assert report.singleton_hits == pytest.approx(np.mean(hits))
    assert report.coverage_by_degree == pytest.approx([np.mean(part) if part else None for part in inside])


def test_a_group_that_is_never_covered_has_no_share() -> None:
    graph = Graph.build([(0, 1)], np.ones((9, 1)), [0, 1, 0, 1, 0, 1, 0, 1, 0])
    report = coverage_report(graph, torch.full((9, 2), 0.5), torch.arange(9), calibration_size=5, draws=2)
    assert len(report.coverage_by_degree) == 4
    assert report.coverage_by_degree[1:3] == [None, None]  # no degree lies between zero and one


@pytest.mark.parametrize("size", [0, -1, 20, 21])
def test_some_calibrate_and_some_are_left_to_cover(size: int) -> None:
    graph, probabilities = drawn_graph(20, 0, classes=2)
    with pytest.raises(DataError, match=f"calibration_size = {size}: expected fewer than the 20 nodes"):
        coverage_report(graph, probabilities, torch.arange(20), calibration_size=size)
    coverage_report(graph, probabilities, torch.arange(20), calibration_size=1, draws=1)
    coverage_report(graph, probabilities, torch.arange(20), calibration_size=19, draws=1)
