"""Classifiers of scikit-learn: their columns, their selection on validation nodes, their probabilities."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression

from confgcn.data.transforms import scale_features
from confgcn.evaluation.metrics import accuracy, log_loss
from confgcn.graph import Graph
from reproduction import peers
from reproduction.jobs import FEATURE_CLASSIFIERS, settings_key
from reproduction.peers import COMPONENTS, FeatureClassifier, neighbourhood_columns

LOGISTIC = FeatureClassifier("logistic regression", "logistic_regression")


def test_columns_are_features_means_of_neighbours_and_log_degree() -> None:
    features = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    graph = Graph.build([(0, 1), (0, 2)], features, [0, 1, 0, 1], train=[0, 1])
    expected = [[1, 2, 4, 5, np.log(3)], [3, 4, 1, 2, np.log(2)], [5, 6, 1, 2, np.log(2)], [7, 8, 0, 0, 0]]
    np.testing.assert_allclose(neighbourhood_columns(graph, seed=0), expected)
    sparse = Graph.build([(0, 1), (0, 2)], sp.csr_matrix(features), [0, 1, 0, 1], train=[0, 1])
    np.testing.assert_allclose(neighbourhood_columns(sparse, seed=0), expected)


def test_many_columns_are_reduced_first(small_graph: Graph) -> None:
    wide = small_graph.with_features(torch.rand(120, COMPONENTS + 6))
    assert neighbourhood_columns(wide, seed=0).shape == (120, 2 * COMPONENTS + 1)
    assert neighbourhood_columns(small_graph, seed=0).shape == (120, 2 * small_graph.num_features + 1)


@pytest.mark.parametrize("name", FEATURE_CLASSIFIERS)
def test_log_probabilities_sum_to_one_and_are_better_than_chance(name: str, small_graph: Graph) -> None:
    logits = FeatureClassifier(name, name).fit(small_graph, seed=0)
    torch.testing.assert_close(logits.exp().sum(1), torch.ones(120, dtype=torch.double))
    assert accuracy(logits[small_graph.validation], small_graph.labels[small_graph.validation]) > 1 / 4


def test_the_strength_with_the_lowest_validation_log_loss_is_kept(small_graph: Graph) -> None:
    validation, train = small_graph.validation, small_graph.train
    losses = []
    for strength in peers.SETTINGS["logistic_regression"]["C"]:
        model = LogisticRegression(C=strength, max_iter=1000).fit(
            small_graph.features[train].numpy(), small_graph.labels[train].numpy()
        )
        probabilities = torch.from_numpy(model.predict_proba(small_graph.features[validation].numpy()))
        losses.append(log_loss(probabilities, small_graph.labels[validation]))
    logits = LOGISTIC.fit(small_graph, seed=0)
    found = log_loss(logits[validation].exp(), small_graph.labels[validation])
    assert found == pytest.approx(min(losses), rel=1e-3)


def test_the_feature_scaling_is_applied(small_graph: Graph) -> None:
    changed = LOGISTIC.changed("scaled", feature_scaling="unit")
    assert isinstance(changed, FeatureClassifier)
    by_hand = LOGISTIC.fit(scale_features(small_graph, "unit"), seed=0)
    torch.testing.assert_close(changed.fit(small_graph, seed=0), by_hand)
    assert settings_key(changed, "demo") != settings_key(LOGISTIC, "demo")
    assert changed.described("demo")["feature_scaling"] == "unit"


@pytest.mark.parametrize("name", FEATURE_CLASSIFIERS)
def test_test_labels_change_nothing(name: str, small_graph: Graph) -> None:
    labels = small_graph.labels.clone()
    labels[small_graph.test] = 0
    altered = Graph.build(
        torch.stack([small_graph.adjacency.indices, small_graph.adjacency.rows], dim=1).numpy(),
        small_graph.features.numpy(),
        labels.numpy(),
        **{split: getattr(small_graph, split).numpy() for split in ("train", "validation", "test")},
    )
    one, other = (FeatureClassifier(name, name).fit(graph, seed=0) for graph in (small_graph, altered))
    assert torch.equal(one, other)


def test_a_class_without_training_node_gets_a_small_probability() -> None:
    graph = Graph.build([(0, 1)], np.eye(6), [0, 1, 2, 0, 1, 2], train=[0, 1], validation=[3, 4], test=[5])
    logits = LOGISTIC.fit(graph, seed=0)
    assert torch.isfinite(logits).all()
    assert bool((logits[:, 2].exp() < 1e-11).all())
