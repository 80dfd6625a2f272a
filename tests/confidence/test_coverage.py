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
from confgcn.confidence.prediction_sets import conformal_quantile, degree_groups
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
