"""The report against one draw written out, and against what sets promise."""

from __future__ import annotations

import time
from typing import get_args

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.confidence.conformity import Score, label_scores
from confgcn.confidence.coverage import coverage_report
from confgcn.confidence.prediction_sets import conformal_quantile, degree_groups, group_quantiles
from confgcn.exceptions import DataError
from confgcn.graph import Graph


def drawn_graph(count: int, classes: int) -> tuple[Graph, Tensor]:
    random = np.random.default_rng(0)
    logits = 2 * random.normal(size=(count, classes))
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = (true.cumsum(1) < random.random((count, 1))).sum(1).clip(max=classes - 1)
    edges = random.integers(0, count, size=(2 * count, 2))
    graph = Graph.build(edges, np.ones((count, 1)), labels, class_names=[str(label) for label in range(classes)])
    return graph, torch.from_numpy(0.5 * logits).softmax(1)


def test_one_draw_by_hand() -> None:
    graph, probabilities = drawn_graph(60, 3)
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
def test_a_hundred_draws_cover_what_was_asked_for_and_are_quick(score: Score, by_degree: bool) -> None:
    graph, probabilities = drawn_graph(1250, 7)
    started = time.perf_counter()
    report = coverage_report(graph, probabilities, torch.arange(1250), score=score, by_degree=by_degree)
    assert time.perf_counter() - started < 1.5  # takes about 0.05 s
    assert report.coverage == pytest.approx(0.9, abs=0.01)
    assert 0.005 < report.coverage_std < 0.03
    if by_degree:
        assert report.coverage_by_degree == pytest.approx([0.9] * 4, abs=0.02)


def test_a_pool_that_is_too_small_is_refused() -> None:
    graph, probabilities = drawn_graph(20, 2)
    with pytest.raises(DataError, match="calibration_size = 20: expected fewer than the 20 nodes"):
        coverage_report(graph, probabilities, torch.arange(20), calibration_size=20)


def test_without_a_wish_five_hundred_nodes_calibrate_a_hundred_times() -> None:
    graph, probabilities = drawn_graph(700, 3)
    nodes = torch.arange(700)
    explicit = {"coverage": 0.9, "score": "threshold", "by_degree": False, "draws": 100, "calibration_size": 500}
    found = coverage_report(graph, probabilities, nodes)
    assert found == coverage_report(graph, probabilities, nodes, seed=0, **explicit)
    assert found != coverage_report(graph, probabilities, nodes, seed=1, **explicit)


@pytest.mark.parametrize("by_degree", [False, True])
def test_several_draws_by_hand(by_degree: bool) -> None:
    graph, probabilities = drawn_graph(90, 3)
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
    graph, probabilities = drawn_graph(20, 2)
    with pytest.raises(DataError, match=f"calibration_size = {size}: expected fewer than the 20 nodes"):
        coverage_report(graph, probabilities, torch.arange(20), calibration_size=size)
    coverage_report(graph, probabilities, torch.arange(20), calibration_size=1, draws=1)
    coverage_report(graph, probabilities, torch.arange(20), calibration_size=19, draws=1)
