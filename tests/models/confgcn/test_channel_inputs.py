"""The channels of every kind of model by hand, from sparse and dense features, and those that are kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.models.base import Shape
from confgcn.models.confgcn import channel_inputs
from confgcn.models.confgcn.channel_inputs import ChannelInputs
from confgcn.models.confgcn.channel_network import Block
from confgcn.models.confgcn.label_channel import far_label_channel, label_channel
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.sparse import SparseMatrix

EDGES = [(0, 1), (1, 2), (1, 3)]  # node 4 is isolated
FEATURES = np.array([[3.0, 4.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 5.0], [1.0, 0.0, 0.0], [0.0, 6.0, 8.0]])
ALL = torch.arange(5)
NODES = torch.tensor([3, 1, 1])

KINDS: dict[str, dict[str, Any]] = {
    "summed": {"order": 1, "decay": 0.0},
    "apart": {"channels": "apart"},
    "own": {"channels": "own"},
    "labels": {"channels": "labels"},
    "summed with labels": {"order": 1, "decay": 0.0, "label_channel": True},
    "apart with labels": {"channels": "apart", "label_channel": True},
    "own with labels": {"channels": "own", "label_channel": True},
}


def star(*, sparse: bool = False) -> Graph:
    features = sp.csr_matrix(FEATURES) if sparse else FEATURES
    return Graph.build(EDGES, features, [0, 1, 0, 1, 0], train=[0, 1], validation=[2, 3, 4]).training_view()


def inputs_of(graph: Graph, **options: Any) -> ChannelInputs:
    return ChannelInputs.of(PropagatedConfGCN(Shape.of(graph), **{"unit_length": False, **options}), graph)


def as_dense(channels: list[Block]) -> list[Tensor]:
    return [x if isinstance(x, Tensor) else torch.from_numpy(x.to_scipy().toarray()) for x in channels]


@pytest.fixture(params=list(KINDS))
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    return KINDS[request.param]


# Kinds of channels

WITH_LOOPS = [  # half of the node itself, half of the mean over it and its neighbours
    [3 / 4, 1 / 4, 0, 0, 0],
    [1 / 8, 5 / 8, 1 / 8, 1 / 8, 0],
    [0, 1 / 4, 3 / 4, 0, 0],
    [0, 1 / 4, 0, 3 / 4, 0],
    [0, 0, 0, 0, 1],
]
ONE_STEP = [[0, 1, 0, 0, 0], [1 / 3, 0, 1 / 3, 1 / 3, 0], [0, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0]]
TWO_STEPS = [  # without return: what is left of a row is divided by its sum
    [0, 0, 1 / 2, 1 / 2, 0],
    [0, 0, 0, 0, 0],
    [1 / 2, 0, 0, 1 / 2, 0],
    [1 / 2, 0, 1 / 2, 0, 0],
    [0, 0, 0, 0, 0],
]
ROWS = {"summed": [WITH_LOOPS], "apart": [np.eye(5), ONE_STEP, TWO_STEPS], "own": [np.eye(5)], "labels": []}


def test_channels_of_features_are_the_rows_times_the_features(options: dict[str, Any]) -> None:
    expected = [torch.tensor(np.array(rows) @ FEATURES).float() for rows in ROWS[options.get("channels", "summed")]]
    found = inputs_of(star(), **options).whole(ALL)
    torch.testing.assert_close(found[: len(expected)], expected)


@pytest.mark.parametrize("kind", ["summed with labels", "apart with labels", "own with labels"])
def test_the_label_channel_comes_last(kind: str) -> None:
    graph = star()
    found = inputs_of(graph, **KINDS[kind]).whole(NODES)
    assert len(found) == len(inputs_of(graph, **{**KINDS[kind], "label_channel": False}).whole(NODES)) + 1
    assert torch.equal(as_dense(found)[-1], label_channel(graph)[NODES])


def test_channels_of_labels_are_the_near_and_the_far_one_alone() -> None:
    graph = star()
    near, far = as_dense(inputs_of(graph, channels="labels").whole(NODES))
    assert torch.equal(near, label_channel(graph)[NODES])
    assert torch.equal(far, far_label_channel(graph)[NODES])


def test_the_network_has_weights_for_every_column(options: dict[str, Any]) -> None:
    graph = star()
    model = PropagatedConfGCN(Shape.of(graph), **options)
    assert [x.shape[1] for x in inputs_of(graph, **options).whole(ALL)] == model._widths()


def test_features_have_unit_length_before_and_after_propagation() -> None:
    (channel,) = as_dense(inputs_of(star(), order=1, decay=0.0, unit_length=True).whole(torch.tensor([0])))
    total = np.array([3 / 4 * 0.6, 3 / 4 * 0.8 + 1 / 4, 0.0])  # of (0.6, 0.8, 0) and (0, 1, 0)
    assert channel[0].tolist() == pytest.approx((total / np.linalg.norm(total)).tolist())
    (own,) = as_dense(inputs_of(star(), channels="own", unit_length=True).whole(torch.tensor([4])))
    assert own[0].tolist() == pytest.approx([0.0, 0.6, 0.8])


def test_nodes_may_occur_more_than_once_and_in_any_order(options: dict[str, Any]) -> None:
    inputs = inputs_of(star(), **options)
    torch.testing.assert_close(inputs.whole(NODES), [x[NODES] for x in as_dense(inputs.whole(ALL))])


# Views


def test_a_view_draws_the_rows_of_every_table_and_leaves_own_features_and_labels() -> None:
    torch.manual_seed(0)
    inputs = inputs_of(star(), **KINDS["apart with labels"])
    own, one, two, labels = as_dense(inputs.views(torch.tensor([1, 0]), 1))
    expected_own, _, _, expected_labels = as_dense(inputs.whole(torch.tensor([1, 0])))
    assert torch.equal(own, expected_own)
    assert torch.equal(labels, expected_labels)
    assert one[0].tolist() in FEATURES[[0, 2, 3]].tolist()  # one node is drawn
    assert one[1].tolist() == FEATURES[1].tolist()
    assert two[1].tolist() in FEATURES[[2, 3]].tolist()


def test_the_mean_of_views_is_the_channel_of_whole_rows() -> None:
    torch.manual_seed(0)
    inputs, nodes = inputs_of(star(), order=1, decay=0.0), torch.ones(4000, dtype=torch.long)
    (views,), (whole,) = as_dense(inputs.views(nodes, 4)), as_dense(inputs.whole(nodes[:1]))
    torch.testing.assert_close(views.mean(0), whole[0], atol=0.05, rtol=0.0)  # standard deviation 0.015


def test_views_of_size_zero_are_whole_rows(options: dict[str, Any]) -> None:
    inputs = inputs_of(star(), **options)
    torch.testing.assert_close(inputs.views(NODES, 0), inputs.whole(NODES), atol=0.0, rtol=0.0)


# Sparse features


@pytest.mark.parametrize("unit_length", [False, True])
def test_sparse_features_give_the_channels_of_dense_ones(
    options: dict[str, Any], unit_length: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**options, "unit_length": unit_length}
    expected = inputs_of(star(), **options).whole(NODES)
    sparse = inputs_of(star(sparse=True), **options)
    found = sparse.whole(NODES)
    assert all(isinstance(x, Tensor) for x in found)  # few columns
    torch.testing.assert_close(found, expected)
    monkeypatch.setattr(channel_inputs, "DENSE_COLUMNS", 2)
    torch.testing.assert_close(as_dense(sparse.whole(NODES)), expected)


@pytest.mark.parametrize(("columns", "is_dense"), [(3, True), (2, False)])
def test_sparse_channels_are_made_dense_up_to_a_number_of_columns(
    columns: int, is_dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_inputs, "DENSE_COLUMNS", columns)
    found = inputs_of(star(sparse=True), **KINDS["apart with labels"]).whole(ALL)
    assert [isinstance(x, SparseMatrix) for x in found] == [not is_dense] * 3 + [False]


# What is kept


def counted_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that are read from tables from now on."""
    read: list[int] = []
    of = PropagationRows.of

    def counted(rows: PropagationRows, nodes: Tensor) -> PropagationRows:
        read.append(len(nodes))
        return of(rows, nodes)

    monkeypatch.setattr(PropagationRows, "of", counted)
    return read


def test_kept_channels_are_those_of_whole_rows(options: dict[str, Any]) -> None:
    graph = star()
    inputs = inputs_of(graph, **options)
    for nodes in (graph.train, graph.validation):
        torch.testing.assert_close(inputs.kept(nodes), inputs.whole(nodes), atol=0.0, rtol=0.0)


def test_channels_of_training_and_of_validation_nodes_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = star()
    inputs = inputs_of(graph, order=1)
    read = counted_rows(monkeypatch)
    first, second = inputs.kept(graph.train), inputs.kept(graph.validation)
    assert inputs.kept(graph.train) is first
    assert inputs.kept(graph.validation) is second
    assert read == [2, 3]


def test_channels_of_other_nodes_are_not_kept(options: dict[str, Any]) -> None:
    graph = star()
    inputs = inputs_of(graph, **options)
    for nodes in (NODES, graph.train.clone(), graph.validation[:], graph.test):
        assert inputs.kept(nodes) is None
    assert inputs._kept == []


def test_nothing_is_kept_of_a_graph_that_is_gone() -> None:
    graph = star()
    inputs, nodes = inputs_of(graph, channels="own"), graph.train
    del graph
    assert inputs.graph() is None
    assert inputs.kept(nodes) is None


def test_channels_of_other_inputs_are_not_taken_for_kept_ones() -> None:
    graph = star()
    inputs = inputs_of(graph, channels="own")
    inputs.kept(graph.validation)
    found = replace(inputs, features=2 * inputs.features).kept(graph.validation)
    assert found is not None
    assert as_dense(found)[0].tolist() == (2 * FEATURES[graph.validation]).tolist()


@pytest.mark.parametrize(
    ("kind", "columns"),
    [("summed", 3), ("apart", 9), ("own", 3), ("labels", 7 + 3), ("apart with labels", 9 + 7)],
)
def test_channels_are_kept_up_to_a_number_of_numbers(kind: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = star()
    inputs = inputs_of(graph, **KINDS[kind])
    monkeypatch.setattr(channel_inputs, "MOST_KEPT", 3 * columns - 1)
    assert inputs.kept(graph.validation) is None
    monkeypatch.setattr(channel_inputs, "MOST_KEPT", 3 * columns)
    assert inputs.kept(graph.validation) is not None


def test_the_bound_is_of_all_kept_channels_together(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = star()
    inputs = inputs_of(graph, channels="own")
    monkeypatch.setattr(channel_inputs, "MOST_KEPT", 5 * 3 - 1)
    assert inputs.kept(graph.validation) is not None
    assert inputs.kept(graph.train) is None
    assert inputs.kept(graph.validation) is not None  # kept already
    monkeypatch.setattr(channel_inputs, "MOST_KEPT", 5 * 3)
    assert inputs.kept(graph.train) is not None
