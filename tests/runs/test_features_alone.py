"""The linear model of the features alone: against its definition, and which nodes it predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import Ridge

from confgcn.confidence.calibration import stratified_folds
from confgcn.graph import Graph
from confgcn.runs import features_alone as module
from confgcn.runs.cross_validation import FOLDS
from confgcn.runs.features_alone import features_alone, principal_coordinates, ridge_probabilities, scaled_rows


def informative(num_nodes: int = 60, num_features: int = 5) -> Graph:
    """Two classes that the sign of the first column separates; a third of the nodes each is trained on and held out."""
    random = np.random.default_rng(0)
    features, labels = random.normal(size=(num_nodes, num_features)), np.arange(num_nodes) % 2
    features[:, 0] = np.where(labels, 1.0, -1.0) * random.uniform(0.5, 1.5, num_nodes)
    third = num_nodes // 3
    return Graph.build(
        [(0, 1)], features, labels, train=range(third), validation=range(third, 2 * third), test=range(2 * third, 60)
    )


@pytest.mark.parametrize("num_features", [5, 200])
@pytest.mark.parametrize("form", [torch.from_numpy, sp.csr_array])
def test_coordinates_keep_the_products_of_centred_rows(num_features: int, form: Callable[..., Any]) -> None:
    random = np.random.default_rng(1)
    rows, new = random.normal(size=(30, num_features)), random.normal(size=(7, num_features))
    coordinates, of_new = (found.numpy() for found in principal_coordinates(form(rows), form(new)))
    centred, new_centred = rows - rows.mean(0), new - rows.mean(0)
    assert coordinates @ coordinates.T == pytest.approx(centred @ centred.T)
    assert of_new @ coordinates.T == pytest.approx(new_centred @ centred.T)
    between = coordinates.T @ coordinates
    assert between == pytest.approx(np.diag(np.diag(between)), abs=1e-9)


@pytest.mark.parametrize("num_features", [4, 60])
def test_scores_left_out_are_those_of_fits_without_the_row(num_features: int) -> None:
    random = np.random.default_rng(2)
    rows, labels = random.normal(size=(25, num_features)), random.integers(0, 3, 25)
    truth = np.eye(3)[labels]
    coordinates, _ = principal_coordinates(torch.from_numpy(rows), torch.from_numpy(rows))
    fit = module._Ridge.fit(coordinates, torch.from_numpy(truth - truth.mean(0)), 0.1)
    penalty = 0.1 * float(coordinates.square().sum()) / 25
    for row in (0, 7, 24):
        rest = np.arange(25) != row
        expected = Ridge(alpha=penalty).fit(rows[rest], truth[rest]).predict(rows[[row]])[0]
        assert fit.left_out[row].numpy() + truth.mean(0) == pytest.approx(expected)
    whole = Ridge(alpha=penalty).fit(rows, truth).predict(rows)
    assert (coordinates @ fit.weights).numpy() + truth.mean(0) == pytest.approx(whole)


def test_informative_features_predict_the_validation_nodes() -> None:
    graph = informative()
    found = features_alone(graph, graph.validation, seed=0)
    assert found is not None
    assert found.shape == (20, 2)
    assert found.sum(1) == pytest.approx(np.ones(20))
    assert (found.argmax(1) == graph.labels[graph.validation]).double().mean() > 0.9


def test_labels_outside_the_training_set_are_not_used() -> None:
    graph = informative()
    hidden = replace(graph, labels=graph.labels.index_fill(0, torch.cat([graph.validation, graph.test]), 0))
    assert torch.equal(
        features_alone(graph, graph.validation, seed=0), features_alone(hidden, hidden.validation, seed=0)
    )


def test_features_without_information_give_the_shares_of_the_classes() -> None:
    ones = torch.ones(8, 3, dtype=torch.double)
    probabilities = ridge_probabilities(ones, torch.tensor([0] * 6 + [1] * 2), ones[:2], 3)
    assert probabilities.numpy() == pytest.approx(np.tile([7 / 11, 3 / 11, 1 / 11], (2, 1)))


def test_without_held_out_nodes_each_training_node_is_predicted_by_the_other_folds() -> None:
    graph = informative()
    found = features_alone(graph, None, seed=3)
    assert found is not None
    assert len(found) == len(graph.train)
    inside = stratified_folds(graph.train_labels, FOLDS, seed=3) == 0
    rows, labels = scaled_rows(graph.features[graph.train]), graph.train_labels
    assert found[inside] == pytest.approx(ridge_probabilities(rows[~inside], labels[~inside], rows[inside], 2))


def test_sparse_and_dense_features_give_the_same(small_graph: Graph) -> None:
    dense = torch.rand(small_graph.num_nodes, 12) * (torch.rand(small_graph.num_nodes, 12) < 0.3)
    sparse = Graph.build([], sp.csr_array(dense.numpy()), small_graph.labels.numpy()).features
    splits = replace(small_graph, features=dense), replace(small_graph, features=sparse)
    for held_out in (small_graph.validation, None):
        first, second = (features_alone(graph, held_out, seed=0) for graph in splits)
        assert first == pytest.approx(second)


def test_rows_have_unit_length_and_columns_with_units_unit_deviation() -> None:
    counts = scaled_rows(torch.tensor([[3.0, 4.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    assert counts.numpy() == pytest.approx(np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
    measured = scaled_rows(torch.tensor([[-3.0, 0.1], [1.0, 0.1], [-100.0, 0.1]]))
    assert measured[:, 0].numpy().std() == pytest.approx(1.0)
    assert measured[:, 1].tolist() == [0.0] * 3


def test_a_large_problem_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = informative()
    monkeypatch.setattr(module, "MAX_DIMENSION", 4)
    assert features_alone(graph, graph.validation, seed=0) is None
    monkeypatch.setattr(module, "MAX_DIMENSION", 5)
    assert features_alone(graph, graph.validation, seed=0) is not None
    monkeypatch.setattr(module, "MAX_NUMBERS", 199)
    assert features_alone(graph, graph.validation, seed=0) is None
