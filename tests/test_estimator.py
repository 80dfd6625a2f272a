"""The estimator takes any graph, answers in the order and the labels that were given, and leaves the caller alone."""

from __future__ import annotations

import copy
import csv
import hashlib
import pickle
import random
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError

from confgcn.data.formats.registry import write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.data.synthetic import block_model
from confgcn.estimator import ConfGCNClassifier
from confgcn.exceptions import ConfGCNError, CorruptFileError, DataError, ResultWarning, UsageError
from confgcn.graph import Graph
from confgcn.io.checksums import write_checksums
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.runs.directory import RunDirectory
from confgcn.runs.graph_input import GraphFiles
from confgcn.runs.request import RunRequest
from confgcn.runs.train import train

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    from torch_geometric.data import Data

# Most models here are trained for a few epochs: their results are poor.
pytestmark = pytest.mark.filterwarnings("ignore::confgcn.exceptions.ResultWarning")

Array = npt.NDArray[Any]
NAMES = np.array(["ham", "eggs", "<b>spam"], dtype=object)


@dataclass(frozen=True)
class Given:
    """A graph of 90 nodes of three classes; ``y`` has the 24 labels that are known, and -1."""

    graph: Graph
    adjacency: sp.csr_matrix
    features: Array
    true: Array
    y: Array

    @property
    def edges(self) -> list[list[int]]:
        return np.argwhere(sp.triu(self.adjacency).toarray()).tolist()

    def grown(self, edges: list[tuple[int, int]], features: Array) -> tuple[sp.csr_matrix, Array]:
        """With new nodes after the old ones."""
        size = len(self.true) + len(features)
        adjacency = sp.lil_matrix((size, size))
        adjacency[: len(self.true), : len(self.true)] = self.adjacency
        for source, target in edges:
            adjacency[source, target] = 1
        return adjacency.tocsr(), np.concatenate([self.features, features])


@pytest.fixture(scope="module")
def given() -> Given:
    graph = block_model(90, num_classes=3, num_features=16, seed=1, per_class=8, validation=0, test=0)
    true, y = graph.labels.numpy(), np.full(90, -1)
    y[graph.train] = true[graph.train]
    return Given(graph, graph.neighbours.with_ones().to_scipy(), graph.features.numpy(), true, y)


@pytest.fixture(scope="module")
def fitted(given: Given) -> ConfGCNClassifier:
    return quick().fit(given.adjacency, given.features, given.y)


def quick(**params: Any) -> ConfGCNClassifier:
    return ConfGCNClassifier(**{"settings": {"epochs": 25}, **params})


def new_row(given: Given, label: int) -> Array:
    """Features that are typical of the class."""
    mean: Array = given.features[given.true == label].mean(0)
    return mean


# What goes in


def from_networkx(given: Given) -> tuple[nx.Graph, list[str]]:
    """Nodes in no order, with string ids whose natural order is that of the numbers."""
    order = np.random.default_rng(3).permutation(90)
    graph = nx.Graph()
    for node in order:
        label = {} if given.y[node] < 0 else {"label": int(given.y[node])}
        graph.add_node(f"n{node}", x=given.features[node], **label)
    graph.add_edges_from((f"n{target}", f"n{source}") for source, target in reversed(given.edges))
    return graph, [f"n{node}" for node in order]


def from_frames(given: Given) -> tuple[tuple[pd.DataFrame, pd.DataFrame], list[str]]:
    order = np.random.default_rng(4).permutation(90)
    columns = {f"f{place}": given.features[order, place] for place in range(16)}
    labels = pd.array([None if label < 0 else label for label in given.y[order]], dtype="Int64")
    nodes = pd.DataFrame({"id": order, **columns, "label": labels})
    return (pd.DataFrame(given.edges, columns=["source", "target"]), nodes), [str(node) for node in order]


def from_pyg(given: Given) -> tuple[Data, list[str]]:
    edge_index = torch.tensor(given.edges).T
    data = Data(x=torch.from_numpy(given.features), edge_index=edge_index, y=torch.from_numpy(given.y))
    return data, [str(node) for node in range(90)]


def from_own(given: Given) -> tuple[Graph, list[str]]:
    return given.graph, list(given.graph.node_names)


@pytest.mark.parametrize("make", [from_networkx, from_frames, from_pyg, from_own])
def test_any_graph_gives_the_same_rows_in_its_own_order(
    make: Callable[[Given], tuple[Any, list[str]]], given: Given, fitted: ConfGCNClassifier
) -> None:
    graph, names = make(given)
    other = quick().fit(graph)
    assert other.nodes_.tolist() == names
    assert other.classes_.tolist() == [0, 1, 2]
    rows = [int(name.removeprefix("n")) for name in names]
    assert other.predict_proba().tobytes() == fitted.predict_proba()[rows].tobytes()
    assert other.predict().tolist() == fitted.predict()[rows].tolist()
    assert other.confidence().mu.tobytes() == fitted.confidence().mu[rows].tobytes()
    sets = fitted.predict_set()
    assert other.predict_set() == [sets[row] for row in rows]
    assert other.decide().accepted.tolist() == fitted.decide().accepted[rows].tolist()


@pytest.mark.parametrize("unlabelled", [-1, float("nan"), None, ""])
def test_every_sign_for_unlabelled_is_understood(unlabelled: Any, given: Given, fitted: ConfGCNClassifier) -> None:
    labels: list[Any] = [unlabelled if label < 0 else int(label) for label in given.y]
    other = quick().fit(given.adjacency, given.features, labels)
    assert other.classes_.tolist() == [0, 1, 2]
    assert other.predict_proba().tobytes() == fitted.predict_proba().tobytes()


def test_texts_stay_texts_and_columns_follow_the_classes(given: Given) -> None:
    labels = np.where(given.y < 0, None, NAMES[given.y])
    estimator = quick().fit(given.adjacency, given.features, labels)
    assert estimator.classes_.tolist() == ["<b>spam", "eggs", "ham"]
    assert estimator.predict().tolist() == estimator.classes_[estimator.predict_proba().argmax(1)].tolist()
    assert np.mean(estimator.predict() == NAMES[given.true]) > 0.8
    assert set(estimator.predict_set()[0]) <= set(NAMES)


@pytest.mark.parametrize("kind", [np.int64, np.int8, float])
def test_whole_numbers_come_back_as_such(kind: Any, given: Given) -> None:
    labels = np.where(given.y < 0, -1, 10 * given.y).astype(kind)
    estimator = quick().fit(given.adjacency, given.features, labels)
    assert estimator.classes_.tolist() == [0, 10, 20]
    assert estimator.predict().dtype.kind == "i"
    assert np.mean(estimator.predict() == 10 * given.true) > 0.8


def test_truth_values_come_back_as_such(given: Given) -> None:
    labels = [None if label < 0 else bool(label == 0) for label in given.y]
    estimator = quick().fit(given.adjacency, given.features, labels)
    assert estimator.classes_.dtype == bool
    assert np.mean(estimator.predict() == (given.true == 0)) > 0.8
    assert estimator.score(y=given.true == 0) > 0.8


def test_class_names_that_no_label_has_do_not_change_the_kind(given: Given) -> None:
    data, _ = from_pyg(given)
    data.class_names = ["0", "1", "2", "other"]
    assert quick().fit(data).classes_.tolist() == ["0", "1", "2", "other"]


def test_a_column_of_labels_is_taken_with_a_warning(given: Given, fitted: ConfGCNClassifier) -> None:
    with pytest.warns(DataConversionWarning, match=r"A column-vector y.*read as \(N,\)"):
        other = quick().fit(given.adjacency, given.features, given.y[:, None])
    assert other.predict_proba().tobytes() == fitted.predict_proba().tobytes()


@pytest.mark.parametrize("kinds", ["degree", ["degree", "positional"], ("identity",)])
def test_features_can_be_made_where_there_are_none(kinds: Any, given: Given) -> None:
    estimator = quick(add_features=kinds).fit(given.adjacency, y=given.y)
    assert estimator.n_features_in_ == estimator.run_.graph.num_features >= 1
    assert np.isfinite(estimator.predict_proba()).all()
    grown, _ = given.grown([(90, 0)], np.zeros((1, 16)))
    assert np.isfinite(estimator.predict_proba(grown)[90]).all()


def test_validation_and_test_are_shares_of_the_labels(given: Given) -> None:
    estimator = quick(validation=0.25, test=0.25).fit(given.adjacency, given.features, given.y)
    split = estimator.run_.graph
    assert (len(split.train), len(split.validation), len(split.test)) == (12, 6, 6)
    assert estimator.score() == pytest.approx(estimator.run_.metrics["test_accuracy"])
    assert estimator.run_.held_out is None


def test_the_split_is_drawn_by_the_random_state(given: Given) -> None:
    seeds = (0, 1, 2**40)
    splits = [quick(test=0.25, random_state=seed).fit(given.adjacency, given.features, given.y) for seed in seeds]
    assert len({tuple(estimator.run_.graph.test.tolist()) for estimator in splits}) == len(seeds)


def test_a_graph_whose_nodes_are_all_labelled_can_be_fitted(given: Given) -> None:
    estimator = quick().fit(given.adjacency, given.features, given.true)
    assert np.mean(estimator.predict() == given.true) > 0.9
    assert not estimator.decide().accepted.any()
    assert "nothing to accept" in estimator.decide().message


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"y": None}, "requires y to be passed"),
        ({"y": np.full(90, -1)}, "no node has a training label"),
        ({"y": np.zeros(90, dtype=int)}, r"one class, '0'.*at least two"),
        ({"y": np.zeros(5, dtype=int)}, "expected one per node, 90, got 5"),
        ({"y": np.zeros((90, 2), dtype=int)}, "several labels are not supported"),
        ({"y": np.linspace(0, 1, 90)}, "node 1 has 0.01"),
        ({"y": np.full(90, -2)}, "classes are numbered from 0"),
        ({"X": None}, "pass X, one row per node, or.*add_features"),
        ({"X": np.ones((7, 3))}, r"expected shape \(90, at least 1\).*got \(7, 3\)"),
        ({"X": np.ones(90)}, r"got \(90,\)"),
        ({"X": np.full((90, 2), np.nan)}, "row 0, column 0 is NaN"),
        ({"graph": sp.csr_matrix((90, 91))}, "expected a square matrix"),
        ({"graph": 0.5 * sp.eye(90)}, "expected 0 or 1"),
    ],
)
def test_bad_input_is_named(changes: dict[str, Any], expected: str, given: Given) -> None:
    usual = {"graph": given.adjacency, "X": given.features, "y": given.y}
    with pytest.raises(DataError, match=expected):
        call_quietly(quick().fit, **{**usual, **changes})


def call_quietly(call: Callable[..., Any], **arguments: Any) -> Any:
    """Of a column of labels the error is of interest here, not the warning."""
    if np.ndim(arguments["y"]) == 2:
        with pytest.warns(DataConversionWarning):
            return call(**arguments)
    return call(**arguments)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"method": "confgnc"}, "did you mean 'confgcn'"),
        ({"preset": "consensu"}, "did you mean 'consensus'"),
        ({"settings": {"epoch": 3}}, "did you mean 'epochs'"),
        ({"settings": ["epochs"]}, "expected a mapping"),
        ({"add_features": ["degrees"]}, "did you mean 'degree'"),
        ({"random_state": -1}, "expected a whole number from 0"),
        ({"random_state": None}, "expected a whole number from 0"),
        ({"threads": 0}, "threads = 0"),
        ({"validation": 1.5}, "validation share = 1.5"),
        ({"validation": 0.5, "test": 0.5}, "nothing is left to train on"),
    ],
)
def test_bad_parameters_are_named_when_fitting(params: dict[str, Any], expected: str, given: Given) -> None:
    with pytest.raises(UsageError, match=expected):
        quick(**params).fit(given.adjacency, given.features, given.y)


def test_something_that_is_no_graph_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no graph can be made of a builtins\.int"):
        quick().fit(3)


# What comes out


def test_probabilities_sum_to_one_and_agree_with_the_labels(fitted: ConfGCNClassifier) -> None:
    probabilities = fitted.predict_proba()
    assert probabilities.shape == (90, 3)
    assert np.allclose(probabilities.sum(1), 1.0)
    assert fitted.predict().tolist() == fitted.classes_[probabilities.argmax(1)].tolist()


def test_a_classifier_is_shown_with_its_parameters_and_its_run(fitted: ConfGCNClassifier) -> None:
    assert repr(quick()) == "ConfGCNClassifier(settings={'epochs': 25})"
    assert repr(fitted).startswith("ConfGCNClassifier(settings={'epochs': 25}), fitted: Run(dataset='graph'")
    bundle = ConfGCNClassifier(preset="<b>")._repr_mimebundle_()
    assert "&lt;b&gt;" in bundle["text/html"]
    assert "held out accuracy" in fitted._repr_mimebundle_()["text/html"]


def test_one_forward_pass_serves_labels_sets_and_decisions(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = quick(validation=0.5).fit(given.adjacency, given.features, given.y)
    calls: list[int] = []  # the number of nodes of each forward pass
    method = type(estimator.run_.method)
    forward = method.forward
    monkeypatch.setattr(
        method, "forward", lambda self, graph, *rest: calls.append(graph.num_nodes) or forward(self, graph, *rest)
    )
    estimator.predict()
    estimator.predict_proba()
    assert estimator.predict_set(coverage=0.5) != estimator.predict_set(coverage=0.99)
    assert estimator.decide(max_error=0.4).accepted.sum() >= estimator.decide(max_error=0.01).accepted.sum()
    assert calls == []
    grown = given.grown([(90, 0)], given.features[:1])
    estimator.predict_set(*grown, coverage=0.5)
    assert calls.count(91) == 1  # the others are steps that solve for the parameters of the new node


def test_confidences_are_those_of_every_label(fitted: ConfGCNClassifier, given: Given) -> None:
    held = fitted.confidence()
    assert held.mu.shape == held.precision.shape == (90, 3)
    assert (held.precision >= 0).all()
    assert np.mean(held.mu.argmax(1) == given.true) > 0.8
    with pytest.raises(UsageError, match="gcn has no confidence"):
        quick(method="gcn").fit(given.adjacency, given.features, given.y).confidence()


def test_sets_hold_the_likeliest_label_first_and_grow_with_coverage(fitted: ConfGCNClassifier) -> None:
    small, middle, large = (fitted.predict_set(coverage=coverage) for coverage in (0.5, 0.9, 0.999))
    assert [labels[0] for labels in small] == fitted.predict().tolist()
    assert all(set(a) <= set(b) <= set(c) for a, b, c in zip(small, middle, large, strict=True))
    assert sum(map(len, small)) < sum(map(len, large))
    assert middle == fitted.predict_set()


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 90])
def test_a_coverage_out_of_range_is_refused(coverage: float, fitted: ConfGCNClassifier) -> None:
    with pytest.raises(UsageError, match="coverage = "):
        fitted.predict_set(coverage=coverage)


def test_decisions_are_a_mask_over_all_nodes_and_words(fitted: ConfGCNClassifier, given: Given) -> None:
    strict, loose = fitted.decide(), fitted.decide(max_error=0.3, delta=0.2)
    assert strict.accepted.shape == (90,)
    assert loose.accepted.dtype == bool
    assert loose.accepted.sum() > strict.accepted.sum()
    assert not loose.accepted[given.y >= 0].any()  # nobody asks whether a known label may be accepted
    assert f"accept {loose.accepted.sum()} of 66 nodes" in loose.message
    with pytest.raises(UsageError, match="max_error = 2"):
        fitted.decide(max_error=2)


def test_divided_validation_labels_certify_and_are_not_scored_on(tmp_path: Path) -> None:
    graph = block_model(280, seed=3, validation=0, test=0)
    labels = graph.labels.numpy().copy()
    labels[200:] = -1
    edges = (graph.neighbours.rows, graph.neighbours.indices)
    adjacency = sp.csr_matrix((np.ones(len(edges[0])), edges), shape=(280, 280))
    settings = {"epochs": 20, "held_out": "divided"}
    estimator = ConfGCNClassifier(settings=settings, validation=0.4, test=0.2)
    estimator.fit(adjacency, graph.features.numpy(), labels)
    run = estimator.run_
    assert run.metrics["held_out"] == {"case": "divided", "choosing": 41, "certifying": 40, "certified": True}
    assert "approximate" not in estimator.decide(max_error=0.2).message
    assert estimator.score() == run.metrics["test_accuracy"]
    estimator.save(tmp_path / "run")
    again = ConfGCNClassifier.load(tmp_path / "run")
    assert again.decide(max_error=0.2).message == estimator.decide(max_error=0.2).message
    assert again.predict_set(coverage=0.8) == estimator.predict_set(coverage=0.8)


def test_a_decision_by_labels_that_were_trained_on_in_turn_says_that_it_is_approximate(
    fitted: ConfGCNClassifier,
) -> None:
    assert fitted.decide(max_error=0.3).message.endswith("(approximate: the same labels chose or calibrated the model)")


@pytest.mark.parametrize("ask", [ConfGCNClassifier.predict_set, ConfGCNClassifier.decide])
def test_without_held_out_labels_nothing_is_promised(ask: Callable[..., Any], given: Given) -> None:
    settings = {"epochs": 3, "select": "last", "stop": "never"}
    estimator = quick(settings=settings).fit(given.adjacency, given.features, given.y)
    with pytest.raises(DataError, match=r"no label was held out.*give validation nodes"):
        ask(estimator)


@pytest.mark.parametrize(
    ("preset", "settings"),
    [("default", {"search": False, "order": 1}), ("consensus", {})],
    ids=["default, one step", "consensus"],
)
def test_a_node_is_explained_by_its_name(given: Given, preset: str, settings: dict[str, Any]) -> None:
    graph, _ = from_networkx(given)
    estimator = quick(preset=preset, settings={"epochs": 25, **settings}).fit(graph)
    node = max(graph.nodes, key=graph.degree)
    found = estimator.explain(node)
    assert {effect.name for effect in found.effects} == set(graph.neighbors(node))
    place = estimator.nodes_.tolist().index(node)
    assert estimator.classes_[found.label] == estimator.predict()[place]
    with pytest.raises(UsageError, match="unknown node of graph 'n900': did you mean 'n"):
        estimator.explain("n900")


def test_a_position_explains_too_where_it_is_the_name(fitted: ConfGCNClassifier) -> None:
    assert fitted.explain(7).node == fitted.explain("7").node == 7


def test_the_score_is_over_labels_that_were_not_used(fitted: ConfGCNClassifier, given: Given) -> None:
    others = given.y < 0
    right = fitted.predict() == given.true
    assert fitted.score(y=given.true) == pytest.approx(right[others].mean())
    partly = np.where(np.arange(90) % 2, given.true, -1)
    assert fitted.score(y=partly) == pytest.approx(right[others & (np.arange(90) % 2 == 1)].mean())
    with pytest.raises(DataError, match="nothing to score"):
        fitted.score()


def test_the_score_of_a_new_graph_counts_its_new_nodes(fitted: ConfGCNClassifier, given: Given) -> None:
    grown, features = given.grown([(90, 0), (91, 1)], np.stack([new_row(given, 0), new_row(given, 1)]))
    right = fitted.predict(grown, features)[90]
    for label, share in ((right, 1.0), ((right + 1) % 3, 0.0)):
        told = np.append(np.full(90, -1), [label, -1])
        assert fitted.score(grown, features, told) == share


@pytest.mark.parametrize(
    "ask",
    [
        lambda estimator, _: estimator.predict(),
        lambda estimator, _: estimator.predict_proba(),
        lambda estimator, _: estimator.confidence(),
        lambda estimator, _: estimator.predict_set(),
        lambda estimator, _: estimator.decide(),
        lambda estimator, _: estimator.explain("0"),
        lambda estimator, _: estimator.score(y=[0]),
        lambda estimator, folder: estimator.save(folder),
    ],
)
def test_nothing_is_said_before_fitting(ask: Callable[[ConfGCNClassifier, Path], Any], tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        ask(ConfGCNClassifier(), tmp_path / "saved")
    assert not list(tmp_path.iterdir())


def test_features_without_a_graph_are_not_ignored(fitted: ConfGCNClassifier, given: Given) -> None:
    with pytest.raises(UsageError, match="X was passed without a graph"):
        fitted.predict(X=given.features)


def test_parameters_are_kept_as_they_are_and_cloned(fitted: ConfGCNClassifier) -> None:
    settings = {"epochs": 3}
    estimator = ConfGCNClassifier("paper", method="confgcn", random_state=4, settings=settings, validation=0.2)
    assert estimator.get_params()["settings"] is settings
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.set_params(threads=2, test=0.1) is estimator
    assert (estimator.threads, estimator.test) == (2, 0.1)
    with pytest.raises(ValueError, match="Invalid parameter"):
        estimator.set_params(epochs=3)
    assert not hasattr(clone(fitted), "run_")


def test_the_random_state_alone_decides(given: Given, fitted: ConfGCNClassifier) -> None:
    again = clone(fitted).fit(given.adjacency, given.features, given.y)
    other = quick(random_state=1).fit(given.adjacency, given.features, given.y)
    numpys = quick(random_state=np.int64(1), threads=np.int64(1), settings={"epochs": np.int64(25)})
    assert again.predict_proba().tobytes() == fitted.predict_proba().tobytes()
    assert other.predict_proba().tobytes() != fitted.predict_proba().tobytes()
    assert numpys.fit(given.adjacency, given.features, given.y).predict_proba().tobytes() == (
        other.predict_proba().tobytes()
    )


def test_fitting_again_forgets_everything(given: Given, fitted: ConfGCNClassifier) -> None:
    estimator = quick().fit(given.graph, y=np.where(given.y < 0, None, NAMES[given.y]))
    estimator.fit(given.adjacency, given.features, given.y)
    assert estimator.classes_.tolist() == [0, 1, 2]
    assert estimator.predict_proba().tobytes() == fitted.predict_proba().tobytes()


# What is left alone


def test_nothing_is_printed_and_notices_go_where_they_are_asked(
    given: Given, capfd: pytest.CaptureFixture[str]
) -> None:
    heard: list[str] = []
    estimator = quick().fit(given.adjacency, given.features, given.y, notify=heard.append)
    estimator.predict_set()
    estimator.explain("3")
    assert capfd.readouterr() == ("", "")
    assert any("isolated nodes" in notice for notice in heard)
    assert any("no validation nodes" in notice for notice in heard)


def test_a_result_to_check_is_a_warning_unless_notices_are_asked_for(given: Given) -> None:
    uninformative = np.ones((len(given.true), 2))
    empty = sp.csr_matrix(given.adjacency.shape)
    estimator = quick(method="gcn", validation=0.3)
    with pytest.warns(ResultWarning, match=r"all \d+ nodes that were not trained on are predicted as class") as caught:
        estimator.fit(empty, uninformative, given.true)
    heard: list[str] = []
    estimator.fit(empty, uninformative, given.true, notify=heard.append)
    assert [str(warning.message) for warning in caught] == heard[-len(caught) :]
    assert {warning.filename for warning in caught} == {__file__}


def test_random_streams_and_threads_of_the_caller_stay(given: Given) -> None:
    before = torch.get_rng_state(), np.random.get_state()[1].tobytes(), random.getstate(), torch.get_num_threads()
    estimator = quick(threads=2, settings={"epochs": 2, "select": "last", "stop": "never"}).fit(
        given.adjacency, given.features, given.y
    )
    estimator.predict(*given.grown([(90, 0)], given.features[:1]))
    assert torch.equal(torch.get_rng_state(), before[0])
    after = np.random.get_state()[1].tobytes(), random.getstate(), torch.get_num_threads()
    assert after == before[1:]


def test_the_input_is_not_changed(given: Given) -> None:
    adjacency = given.adjacency.copy()
    arrays = adjacency.data, adjacency.indices, adjacency.indptr, given.features.copy(), given.y.copy()
    bits = [array.tobytes() for array in arrays]
    quick().fit(adjacency, *arrays[3:]).predict(*given.grown([(90, 0)], arrays[3][:1]))
    assert [array.tobytes() for array in arrays] == bits


def test_signal_handlers_are_not_touched_even_while_fitting(given: Given) -> None:
    handlers = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    during: list[Any] = []

    def look(_: str) -> None:
        during.append((signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)))

    quick().fit(given.adjacency, given.features, given.y, notify=look)
    assert set(during) == {handlers}
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers


def test_another_thread_finds_the_same(given: Given, fitted: ConfGCNClassifier) -> None:
    found: list[bytes] = []

    def work() -> None:
        found.append(quick().fit(given.adjacency, given.features, given.y).predict_proba().tobytes())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(1200)
    assert found == [fitted.predict_proba().tobytes()]


# New nodes


@pytest.mark.parametrize("label", [0, 1, 2])
def test_a_new_node_among_nodes_of_one_class_is_of_that_class(
    label: int, given: Given, fitted: ConfGCNClassifier
) -> None:
    friends = np.flatnonzero(given.y == label)[:4]
    grown = given.grown([(90, int(friend)) for friend in friends], new_row(given, label)[None])
    assert fitted.predict(*grown)[90] == label
    assert fitted.predict_proba(*grown)[90, label] > 0.6


def test_known_nodes_keep_exactly_what_was_said_of_them(given: Given, fitted: ConfGCNClassifier) -> None:
    grown = given.grown([(90, 0), (1, 2), (3, 4)], given.features[:1])
    assert fitted.predict_proba(*grown)[:90].tobytes() == fitted.predict_proba().tobytes()
    assert fitted.confidence(*grown).mu[:90].tobytes() == fitted.confidence().mu.tobytes()
    assert fitted.predict_set(*grown)[:90] == fitted.predict_set()
    assert fitted.decide(*grown, max_error=0.3).accepted[:90].tolist() == fitted.decide(max_error=0.3).accepted.tolist()


def test_known_nodes_are_updated_on_request(given: Given, fitted: ConfGCNClassifier) -> None:
    other = int(np.flatnonzero(given.true != given.true[0])[0])
    grown = given.grown([(90, 0), (0, other)], new_row(given, given.true[other])[None])
    updated, kept = fitted.predict_proba(*grown, update_existing=True), fitted.predict_proba()
    assert (updated[0] != kept[0]).any()
    assert np.allclose(updated.sum(1), 1.0)


def test_only_new_edges_or_nothing_new_is_fine_too(given: Given, fitted: ConfGCNClassifier) -> None:
    assert fitted.predict_proba(given.adjacency, given.features).tobytes() == fitted.predict_proba().tobytes()
    more = given.grown([(0, 50)], np.empty((0, 16)))
    assert (fitted.predict_proba(*more, update_existing=True) != fitted.predict_proba()).any()


@pytest.mark.parametrize("method", ["confgcn", "gcn"])
def test_new_nodes_without_known_neighbours_have_finite_answers(method: str, given: Given) -> None:
    estimator = quick(method=method).fit(given.adjacency, given.features, given.y)
    rows = np.stack([np.zeros(16), new_row(given, 1), new_row(given, 1), new_row(given, 2)])
    grown = given.grown([(91, 92)], rows)  # 90 and 93 are isolated, and 90 has no features either
    probabilities = estimator.predict_proba(*grown)
    assert np.isfinite(probabilities).all()
    assert np.allclose(probabilities.sum(1), 1.0)
    assert estimator.predict(*grown)[[91, 92, 93]].tolist() == [1, 1, 2]


def test_a_network_of_another_library_is_joined_by_names(given: Given) -> None:
    known, names = from_networkx(given)
    estimator = quick().fit(known)
    addition = nx.Graph()
    addition.add_node("stranger", x=new_row(given, 2))
    friends = [f"n{node}" for node in np.flatnonzero(given.y == 2)[:3]]
    for friend in friends:
        addition.add_node(friend, x=given.features[int(friend[1:])])
        addition.add_edge("stranger", friend)
    assert estimator.predict(addition)[0] == 2
    rows = [names.index(friend) for friend in friends]
    assert estimator.predict_proba(addition)[1:].tobytes() == estimator.predict_proba()[rows].tobytes()


def test_the_wrong_number_of_features_names_both(given: Given, fitted: ConfGCNClassifier) -> None:
    grown, features = given.grown([(90, 0)], given.features[:1])
    with pytest.raises(DataError, match="new nodes have 5 features, the method was trained on 16"):
        fitted.predict(grown, features[:, :5])
    with pytest.raises(DataError, match="new nodes have no features, 16 are expected"):
        fitted.predict(grown)


def test_what_no_method_can_say_of_new_nodes_is_refused(given: Given) -> None:
    estimator = ConfGCNClassifier(method="label_propagation").fit(given.adjacency, given.features, given.y)
    assert np.isfinite(estimator.predict_proba()).all()
    with pytest.raises(UsageError, match="LabelPropagation cannot predict nodes that were not in the training graph"):
        estimator.predict(*given.grown([(90, 0)], given.features[:1]))


def test_new_nodes_do_not_change_the_estimator(given: Given, fitted: ConfGCNClassifier) -> None:
    weights = {name: value.clone() for name, value in fitted.run_.method.state_dict().items()}
    grown = given.grown([(90, 0)], given.features[:1])
    first, again = fitted.predict_proba(*grown), fitted.predict_proba(*grown)
    assert first.tobytes() == again.tobytes()
    after = fitted.run_.method.state_dict()
    assert all(torch.equal(value, after[name]) for name, value in weights.items())


# Kept


LOAD = """
import hashlib, sys
from confgcn import ConfGCNClassifier
estimator = ConfGCNClassifier.load(sys.argv[1])
print(hashlib.sha256(estimator.predict_proba().tobytes()).hexdigest(), *estimator.nodes_[:3], *estimator.classes_)
"""


@pytest.fixture(scope="module")
def named(given: Given) -> ConfGCNClassifier:
    """Fitted to named nodes in no order, with texts as labels."""
    graph, _ = from_networkx(given)
    labels = {f"n{node}": NAMES[label] for node, label in enumerate(given.y) if label >= 0}
    return quick().fit(graph, y=labels)


@pytest.fixture
def saved(named: ConfGCNClassifier, tmp_path: Path) -> Path:
    """The folder that it was saved to."""
    named.save(tmp_path / "saved")
    return tmp_path / "saved"


def test_another_process_gives_the_same_bytes(named: ConfGCNClassifier, saved: Path) -> None:
    told = subprocess.run([sys.executable, "-c", LOAD, saved], capture_output=True, text=True, check=True)
    digest = hashlib.sha256(named.predict_proba().tobytes()).hexdigest()
    assert told.stdout.split() == [digest, *named.nodes_[:3], "<b>spam", "eggs", "ham"]
    assert told.stderr == ""


def test_what_is_loaded_is_what_was_saved(given: Given, tmp_path: Path) -> None:
    labels = [None if label < 0 else bool(label) for label in given.y]
    params = {"validation": 0.3, "random_state": np.int64(7), "add_features": ("degree",)}
    estimator = quick(**params).fit(given.adjacency, given.features, labels)
    estimator.save(tmp_path / "saved")
    loaded = ConfGCNClassifier.load(tmp_path / "saved")
    assert loaded.get_params() == estimator.get_params()
    assert loaded.classes_.tolist() == [False, True]
    grown = given.grown([(90, 3)], given.features[:1])
    assert loaded.predict_proba(*grown).tobytes() == estimator.predict_proba(*grown).tobytes()
    assert loaded.decide(max_error=0.3).message == estimator.decide(max_error=0.3).message
    assert loaded.run_.metrics == estimator.run_.metrics
    loaded.save(tmp_path / "again")
    for name in ("estimator.json", "graph.npz", "model.safetensors", "model.json", "predictions.csv", "metrics.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "saved" / name).read_bytes()


def test_a_run_of_the_command_line_can_be_loaded(given: Given, tmp_path: Path) -> None:
    write_graph(raw_from_graph(given.graph), tmp_path / "files")
    request = RunRequest(tmp_path / "files", overrides={"epochs": 20, "dropout": 0.3}, seed=3, out=tmp_path / "run")
    train(request, notify=lambda _: None)
    loaded = ConfGCNClassifier.load(tmp_path / "run")
    with (tmp_path / "run" / "predictions.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert loaded.nodes_.tolist() == [row["node"] for row in rows]
    assert [str(label) for label in loaded.predict()] == [row["label"] for row in rows]
    assert loaded.classes_.tolist() == [0, 1, 2]
    written = np.array([[float(row[f"probability_{label}"]) for label in range(3)] for row in rows])
    assert np.allclose(loaded.predict_proba(), written, atol=1e-8)
    assert loaded.settings == {"epochs": 20, "dropout": 0.3}
    again = clone(loaded).fit(GraphFiles(tmp_path / "files").load(0))
    assert again.predict_proba().tobytes() == loaded.predict_proba().tobytes()


def test_nothing_is_overwritten(saved: Path, fitted: ConfGCNClassifier, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in saved.iterdir()}
    with pytest.raises(UsageError, match="already holds a run"):
        fitted.save(saved)
    assert {file.name: file.read_bytes() for file in saved.iterdir()} == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("dear diary")
    with pytest.raises(UsageError, match="is not empty and holds no run"):
        fitted.save(tmp_path / "mine")
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["diary.txt"]


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_corrupt(share: float, saved: Path) -> None:
    file = RunDirectory(saved).estimator
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CorruptFileError, match=r"estimator\.json"):
        ConfGCNClassifier.load(saved)


def test_an_altered_file_is_corrupt(saved: Path) -> None:
    file = RunDirectory(saved).estimator
    file.write_bytes(file.read_bytes().replace(b'"text"', b'"whole"'))
    with pytest.raises(CorruptFileError, match="checksum"):
        ConfGCNClassifier.load(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"order": [0, 1]},
        {"order": [0] * 90},
        {"order": ["0"] * 90},
        {"order": 90},
        {"order": None},
        {"labels": "whole"},
        {"labels": None},
        {"params": []},
        {"params": {}},
        {"params": {"add_features": [], "colour": "red"}},
        {"params": {"add_features": [], "threads": [1]}},
        {"params": {"add_features": [], "random_state": "x"}},
        {"params": {"add_features": [], "preset": "x" * 3000}},
    ],
)
def test_a_file_that_fits_no_estimator_is_corrupt(changes: dict[str, Any], saved: Path) -> None:
    file = RunDirectory(saved).estimator
    write_checksummed_json(file, {**read_checksummed_json(file), **changes})
    write_checksums(saved, saved.glob("*.*"), not_yet_written={})
    with pytest.raises(CorruptFileError, match=r"estimator\.json: describes no estimator"):
        ConfGCNClassifier.load(saved)


def test_a_flipped_byte_of_the_graph_never_gives_another_answer(saved: Path) -> None:
    file = RunDirectory(saved).graph
    content, right = file.read_bytes(), ConfGCNClassifier.load(saved).predict_proba().tobytes()
    outcomes = []
    for place in np.linspace(0, len(content) - 1, 40).astype(int):
        file.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        try:
            outcomes.append(ConfGCNClassifier.load(saved).predict_proba().tobytes() == right)
        except ConfGCNError:
            outcomes.append(None)
    assert False not in outcomes
    assert outcomes.count(None) > 30  # a few bytes of the container mean nothing


@pytest.mark.parametrize("copied", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy])  # noqa: S301
def test_a_copy_says_the_same(copied: Callable[[Any], Any], given: Given, fitted: ConfGCNClassifier) -> None:
    other = copied(fitted)
    grown = given.grown([(90, 0)], given.features[:1])
    assert other.predict_proba().tobytes() == fitted.predict_proba().tobytes()
    assert other.predict_proba(*grown).tobytes() == fitted.predict_proba(*grown).tobytes()
    assert other.predict_set() == fitted.predict_set()


def test_frames_of_new_nodes_may_name_known_ones_and_lack_levels() -> None:
    count = 40
    people = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(count)],
            "label": ["ab"[i % 2] for i in range(count)],
            "age": [float(20 + i % 2 * 30) for i in range(count)],
            "town": [("x", "y", "z")[i % 3] for i in range(count)],
        }
    )
    links = pd.DataFrame({"source": people["id"], "target": [f"p{(i + 2) % count}" for i in range(count)]})
    estimator = quick().fit((links, people))
    new = pd.DataFrame({"id": ["q"], "age": [20.0], "town": ["x"]})
    more = pd.DataFrame({"source": ["q", "q"], "target": ["p0", "p2"]})
    assert estimator.predict((more, new))[0] == "a"
    with pytest.raises(DataError, match="columns are identified by name"):
        estimator.predict(np.zeros((41, 41)), np.zeros((41, 4)))


def test_a_lost_order_of_rows_is_missed(saved: Path) -> None:
    RunDirectory(saved).estimator.unlink()
    with pytest.raises(CorruptFileError, match=r"estimator\.json: missing"):
        ConfGCNClassifier.load(saved)


def test_a_weighted_graph_is_trained_saved_and_loaded_with_its_weights(tmp_path: Path) -> None:
    graph = block_model(120, seed=1)
    structure = graph.neighbours
    once = structure.indices < structure.rows
    edges = torch.stack([structure.indices, structure.rows], dim=1)[once]
    weights = 1.0 + torch.arange(len(edges)) % 3
    splits = {split: getattr(graph, split) for split in ("train", "validation", "test")}
    weighted = Graph.build(edges, graph.features.numpy(), graph.labels, edge_weight=weights, **splits)
    estimator = ConfGCNClassifier(settings={"epochs": 3}).fit(weighted)
    estimator.save(tmp_path / "run")
    loaded = ConfGCNClassifier.load(tmp_path / "run")
    assert loaded.run_.graph.fingerprint == weighted.fingerprint
    np.testing.assert_allclose(loaded.predict_proba(), estimator.predict_proba())
