"""Splits are drawn by seed, from labelled nodes only, in the requested sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from confgcn.data.splits import hold_out, planetoid_split, random_split
from confgcn.exceptions import DataError
from confgcn.graph import Graph

Split = Callable[..., Graph]
SPLITS = [
    pytest.param(partial(random_split, train=6, validation=7, test=8), id="random"),
    pytest.param(partial(planetoid_split, per_class=2, validation=7, test=8), id="planetoid"),
]


def graph_with_labels(labels: list[int]) -> Graph:
    return Graph.build([(0, 1)], np.ones((len(labels), 1)), labels, class_names=["cat", "dog", "emu"])


THIRTY = graph_with_labels([0, 1, 2, 0, -1] * 6)


@pytest.mark.parametrize("split", SPLITS)
def test_splits_are_of_the_given_sizes_sorted_disjoint_and_labelled(split: Split) -> None:
    graph = split(THIRTY, seed=3)
    parts = [graph.train.tolist(), graph.validation.tolist(), graph.test.tolist()]
    assert [len(part) for part in parts] == [6, 7, 8]
    assert all(part == sorted(part) for part in parts)
    chosen = [node for part in parts for node in part]
    assert len(set(chosen)) == 21
    assert (graph.labels[chosen] >= 0).all()


@pytest.mark.parametrize("split", SPLITS)
def test_the_same_seed_gives_the_same_split_and_another_seed_another(split: Split) -> None:
    assert split(THIRTY, seed=3).fingerprint == split(THIRTY, seed=3).fingerprint
    assert split(THIRTY, seed=3).fingerprint != split(THIRTY, seed=4).fingerprint


@pytest.mark.parametrize("split", SPLITS)
def test_the_graph_given_keeps_its_split(split: Split) -> None:
    before = THIRTY.fingerprint
    split(THIRTY, seed=3)
    assert len(THIRTY.train) == 0
    assert THIRTY.fingerprint == before


def test_planetoid_split_takes_as_many_training_nodes_of_every_class() -> None:
    graph = planetoid_split(THIRTY, seed=0, per_class=5, validation=3, test=4)
    assert graph.labels[graph.train].bincount().tolist() == [5, 5, 5]


def test_a_split_may_use_every_labelled_node_but_not_one_more() -> None:
    graph = random_split(THIRTY, seed=0, train=10, validation=10, test=4)
    assert graph.split_names().count("") == 6
    with pytest.raises(DataError, match="needs 25 labelled nodes, there are 24"):
        random_split(THIRTY, seed=0, train=10, validation=10, test=5)
    with pytest.raises(DataError, match="needs 25 labelled nodes, there are 24"):
        planetoid_split(THIRTY, seed=0, per_class=2, validation=10, test=9)


def test_l13_a_class_with_too_few_members_is_named() -> None:
    graph = graph_with_labels([0, 0, 0, 0, 1, 2, 2, 2])
    with pytest.raises(DataError, match="class 'dog' has 1 labelled nodes, fewer than 2"):
        planetoid_split(graph, seed=0, per_class=2, validation=1, test=1)


def test_a_split_may_be_empty() -> None:
    assert len(random_split(THIRTY, seed=0, train=3, validation=0, test=3).validation) == 0


def test_holding_out_takes_a_share_of_every_class_and_keeps_one_node_each(small_graph: Graph) -> None:
    whole = replace(small_graph, train=torch.arange(120), validation=torch.arange(0), test=torch.arange(0))
    graph = hold_out(whole, seed=3, validation=0.2, test=0.3)
    assert (len(graph.train), len(graph.validation), len(graph.test)) == (60, 24, 36)
    assert torch.bincount(graph.labels[graph.test]).tolist() == [9, 9, 9, 9]
    assert torch.equal(torch.cat([graph.train, graph.validation, graph.test]).sort().values, torch.arange(120))
    again, other = (hold_out(whole, seed=seed, validation=0.2, test=0.3) for seed in (3, 4))
    assert torch.equal(graph.test, again.test)
    assert not torch.equal(graph.test, other.test)
    few = replace(whole, train=torch.arange(12))
    kept = hold_out(few, seed=0, validation=0.5, test=0.49)
    assert torch.equal(kept.labels[kept.train].unique(), few.labels[:12].unique())
    with pytest.raises(DataError, match=r"a test share of 0\.01 of 12 labels is no node"):
        hold_out(few, seed=0, validation=0.0, test=0.01)
