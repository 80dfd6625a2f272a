"""Notices name what was changed in the edge list, and what the data lacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.graph import Graph

EDGES = [(0, 1), (1, 2), (3, 1)]
FEATURES = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [4, 5, 0], [0, 0, 6]])
LABELS = [0, 1, 2, 0, 1]


def build(**changes: Any) -> Graph:
    given = {"edges": EDGES, "features": FEATURES, "labels": LABELS, "train": [0, 1, 2], "validation": [3], "test": [4]}
    return Graph.build(**{**given, **changes})


def test_hidden_labels_are_not_reported_as_missing_classes() -> None:
    assert [text for text in build().training_view().notices() if "class" in text] == []


def test_notices_count_what_was_changed() -> None:
    edges = [(0, 1), (0, 1), (1, 0), (2, 2), (1, 2), (3, 1)]
    features = FEATURES * [[1], [1], [1], [0], [0]]
    assert build(edges=edges, features=features).notices() == [
        "1 duplicate edges merged",
        "1 self loops replaced by the one that every node gets",
        "2 edges listed in one direction: edges are treated as undirected",
        "1 isolated nodes: they have no neighbours",
        "2 nodes have no feature other than zero",
    ]


def test_a_clean_graph_gives_no_notice() -> None:
    both = [*EDGES, (3, 4)]
    assert build(edges=both + [(target, source) for source, target in both]).notices() == []


@pytest.mark.parametrize("as_given", [np.array, sp.csr_matrix], ids=["dense", "sparse"])
def test_x04_zero_rows_are_kept_and_counted(as_given: Any) -> None:
    features = np.array([[1.0, -1], [0, 0], [0, 2], [0, 0], [0, 0]])
    notices = build(features=as_given(features)).notices()
    assert "3 nodes have no feature other than zero" in notices


def test_x05_constant_columns_are_kept_and_mentioned() -> None:
    features = np.array([[0, 7, 1], [0, 7, 2], [0, 7, 3], [0, 7, 4], [0, 7, 5]])
    graph = build(features=features)
    assert isinstance(graph.features, torch.Tensor)
    assert graph.features.tolist() == features.tolist()
    assert any("column" in text for text in graph.notices())


def test_l03_classes_without_a_training_label_are_named() -> None:
    graph = build(train=[0], validation=[1], test=[2, 3], class_names=["cat", "dog", "emu"])
    assert graph.notices()[-1] == "classes without a training label, which cannot be learned: dog, emu"
