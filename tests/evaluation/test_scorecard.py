"""The scorecard and the confidence summary against the metrics they are made of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.evaluation.calibration_error import (
    calibration_interval,
    classwise_calibration_error,
    expected_calibration_error,
    noise_floor,
)
from confgcn.evaluation.groups import node_groups
from confgcn.evaluation.metrics import accuracy, auroc, brier_score, log_loss
from confgcn.evaluation.scorecard import METRICS, score, score_groups, summarise_confidence
from confgcn.evaluation.selective import aurc, excess_aurc
from confgcn.graph import Graph


@pytest.fixture
def probabilities(small_graph: Graph) -> Tensor:
    return torch.randn(small_graph.num_nodes, small_graph.num_classes).mul(2).softmax(1)


def test_every_number_is_that_of_its_function(small_graph: Graph, probabilities: Tensor) -> None:
    nodes = small_graph.test
    rows, labels = probabilities[nodes].double(), small_graph.labels[nodes]
    confidence, correct = rows.max(1).values, rows.argmax(1) == labels
    width, mass = (calibration_interval(confidence, correct, binning=binning) for binning in ("width", "mass"))
    expected = {
        "accuracy": accuracy(rows, labels),
        "ece": expected_calibration_error(confidence, correct),
        "ece_low": width[0],
        "ece_high": width[1],
        "ece_floor": noise_floor(confidence),
        "ece_mass": expected_calibration_error(confidence, correct, binning="mass"),
        "ece_mass_low": mass[0],
        "ece_mass_high": mass[1],
        "ece_mass_floor": noise_floor(confidence, binning="mass"),
        "ece_class": classwise_calibration_error(rows, labels),
        "nll": log_loss(rows, labels),
        "brier": brier_score(rows, labels),
        "aurc": aurc(confidence, correct),
        "excess_aurc": excess_aurc(confidence, correct),
        "auroc_correct": auroc(confidence, correct),
    }
    found = score(small_graph, nodes, probabilities)
    assert found == expected
    assert tuple(found) == METRICS == tuple(expected)
    assert found["ece_low"] < found["ece"] < found["ece_high"]


def test_precision_and_mu_are_those_of_the_predicted_label() -> None:
    graph = Graph.build([], np.eye(4), [0, 1, 0, 1])
    probabilities = torch.tensor([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.3, 0.7]])  # right, wrong, wrong, right
    precision = torch.tensor([[3.0, 0], [2, 9], [9, 1], [0, 4]])
    mu = torch.tensor([[0.3, 0.2], [0.2, 0.8], [0.6, 0.4], [0.9, 0.1]])
    found = score(graph, torch.arange(4), probabilities, mu=mu, precision=precision)
    assert found["auroc_precision"] == 1.0  # 3 and 4 against 2 and 1
    assert found["mu_accuracy"] == 0.75  # all but node 3
    assert found["auroc_mu"] == 0.25  # 0.3 and 0.1 against 0.2 and 0.4
    assert set(found) == {*METRICS, "auroc_precision", "mu_accuracy", "auroc_mu"}


def test_a_node_of_unknown_label_does_not_count(small_graph: Graph, probabilities: Tensor) -> None:
    nodes, left_out = small_graph.test, small_graph.test[:7]
    hidden = replace(small_graph, labels=small_graph.labels.index_fill(0, left_out, -1))
    found = score(hidden, nodes, probabilities, mu=probabilities, precision=probabilities)
    assert found == score(small_graph, nodes[7:], probabilities, mu=probabilities, precision=probabilities)
    assert score_groups(hidden, nodes, probabilities) == score_groups(hidden, nodes[7:], probabilities)


def test_undefined_is_none_and_never_not_a_number() -> None:
    graph = Graph.build([(0, 1)], np.eye(3), [0, 1, -1], train=[0])
    certain = torch.eye(2)[[0, 1, 0]]
    one = score(graph, torch.tensor([1]), certain, mu=certain, precision=certain)
    undefined = {"auroc_correct", "auroc_precision", "auroc_mu"}
    assert {key for key, value in one.items() if value is None} == undefined
    assert all(math.isfinite(value) for value in one.values() if value is not None)
    for nodes in (torch.tensor([2]), torch.tensor([], dtype=torch.long)):
        none = score(graph, nodes, certain, mu=certain, precision=certain)
        assert none == dict.fromkeys([*METRICS, "auroc_precision", "mu_accuracy", "auroc_mu"])
        assert score_groups(graph, nodes, certain) == {}


def test_one_class() -> None:
    graph = Graph.build([(0, 1)], np.eye(3), [0, 0, 0])
    found = score(graph, torch.arange(3), torch.ones(3, 1))
    assert found == {**dict.fromkeys(METRICS, 0.0), "accuracy": 1.0, "auroc_correct": None}


def test_the_same_numbers_every_time_and_the_default_stream_left_alone(
    small_graph: Graph, probabilities: Tensor
) -> None:
    state = torch.get_rng_state()
    first = score(small_graph, small_graph.test, probabilities)
    order = torch.randperm(len(small_graph.test), generator=torch.Generator().manual_seed(3))
    assert score(small_graph, small_graph.test[order], probabilities) == pytest.approx(first)
    assert torch.equal(torch.get_rng_state(), state)


def test_groups_are_scored_one_by_one(small_graph: Graph, probabilities: Tensor) -> None:
    found = score_groups(small_graph, small_graph.test, probabilities)
    groups = node_groups(small_graph, small_graph.test)
    assert {"degree_q1", "entropy_q4", "distance_1"} <= set(groups)
    assert len(found) == 7 * len(groups)
    for name, mask in groups.items():
        nodes = small_graph.test[mask]
        overall = score(small_graph, nodes, probabilities)
        for metric in ("accuracy", "ece", "ece_floor", "nll", "brier"):
            assert found[f"{name}_{metric}"] == overall[metric]
        assert found[f"{name}_count"] == len(nodes)
        assert found[f"{name}_confidence"] == pytest.approx(float(probabilities[nodes].max(1).values.mean()))


def test_summary() -> None:
    highest = torch.tensor([0.6, 0.9, 0.7, 0.8])
    probabilities = torch.stack([highest, 1 - highest], dim=1)
    precision = torch.tensor([[4.0, 0], [1, 0], [2, 0], [3, 0]])
    summary = summarise_confidence(probabilities, precision, torch.tensor([1, 0, 0, 0]))
    assert [group.accuracy for group in summary.groups] == [0.0, 1.0, 1.0, 1.0]
    assert [group.mean_probability for group in summary.groups] == pytest.approx([0.6, 0.7, 0.8, 0.9])
    assert summary.auroc_probability == 1.0
    assert summary.auroc_precision == 0.0


def test_summary_without_precision() -> None:
    summary = summarise_confidence(torch.tensor([[0.9, 0.1]]), None, torch.tensor([0]))
    assert summary.auroc_precision is None
    assert [group.accuracy for group in summary.groups] == [1.0] * 4  # one node is in every quartile


def test_tied_nodes_share_their_groups() -> None:
    probabilities = torch.tensor([[0.7, 0.3]] * 8)
    summary = summarise_confidence(probabilities, None, torch.tensor([0, 0, 1, 1, 0, 1, 1, 0]))
    assert [group.accuracy for group in summary.groups] == [0.5] * 4


def test_precision_is_that_of_the_predicted_label() -> None:
    probabilities = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    precision = torch.tensor([[3.0, 0], [9, 1], [2, 9]])  # 3, 1 and 2
    summary = summarise_confidence(probabilities, precision, torch.tensor([0, 0, 0]))
    assert summary.auroc_precision == 1.0
