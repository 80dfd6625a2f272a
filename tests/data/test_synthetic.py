"""Block models have the requested mismatch, sizes and separation."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from confgcn.data.statistics import describe
from confgcn.data.synthetic import block_model


@pytest.mark.parametrize("mismatch", [0.0, 0.1, 0.3, 0.7, 1.0])
def test_mismatch_is_the_share_of_edges_between_classes(mismatch: float) -> None:
    graph = block_model(3000, mean_degree=6, mismatch=mismatch, seed=1)
    assert describe(graph).label_mismatch.all_labels == pytest.approx(mismatch, abs=0.03)


def test_the_same_seed_gives_the_same_graph_and_another_seed_another() -> None:
    assert block_model(200, seed=5).fingerprint == block_model(200, seed=5).fingerprint
    assert block_model(200, seed=5).fingerprint != block_model(200, seed=6).fingerprint


def test_sizes_are_the_requested_ones() -> None:
    graph = block_model(300, num_classes=3, num_features=9, per_class=5, validation=20, test=30)
    assert (graph.num_nodes, graph.num_classes, graph.num_features) == (300, 3, 9)
    assert graph.labels.bincount().tolist() == [100, 100, 100]
    assert graph.labels[graph.train].bincount().tolist() == [5, 5, 5]
    assert (len(graph.validation), len(graph.test)) == (20, 30)


def test_a_quarter_validates_and_a_quarter_tests_by_default() -> None:
    graph = block_model(400)
    assert (len(graph.validation), len(graph.test)) == (100, 100)


def test_mean_degree_is_adjustable() -> None:
    assert block_model(3000, mean_degree=8).degrees.float().mean() == pytest.approx(8, rel=0.1)
    assert block_model(3000, mean_degree=3).degrees.float().mean() == pytest.approx(3, rel=0.1)


def test_degrees_have_a_heavy_tail() -> None:
    degrees = block_model(3000, mean_degree=4).degrees.float()
    assert degrees.max() > 10 * degrees.mean()


def test_without_noise_features_are_the_unit_mean_of_the_class() -> None:
    graph = block_model(40, num_classes=2, feature_noise=0.0, per_class=2)
    assert isinstance(graph.features, torch.Tensor)
    assert len(graph.features.unique(dim=0)) == 2
    torch.testing.assert_close(graph.features.norm(dim=1), torch.ones(40))


@pytest.mark.parametrize("change", [{"mismatch": 0.9}, {"feature_noise": 2.0}, {"mean_degree": 5.0}])
def test_every_setting_changes_the_graph(change: dict[str, Any]) -> None:
    assert block_model(200, **change).fingerprint != block_model(200).fingerprint
