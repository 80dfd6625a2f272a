"""Any arrays become either an error that names the problem or a finite result that does not depend on their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from confgcn.data.raw import RawGraph
from confgcn.estimator import ConfGCNClassifier
from confgcn.exceptions import ConfGCNError, DataError, DivergedError
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.models.registry import METHODS
from confgcn.runs.predictions import disagreeing_edges_table, label_errors_table, prediction_table
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.settings import preset_names
from confgcn.runs.tables import csv_bytes
from confgcn.runs.train import fit_in_memory

PARTS = ("train", "validation", "test")
VARIANTS = [(method, preset) for method in METHODS for preset in preset_names(method)]
# What takes many steps of its own, in few.
QUICK: dict[str, dict[str, Any]] = {
    "deepwalk": {"walks_per_node": 1, "num_passes": 1, "walk_length": 5},
    "planetoid": {"label_steps": 1, "graph_steps": 1, "graph_share": 1.0},
    "semi_emb": {"num_pairs": 50},
}
LARGEST = float(np.finfo(np.float32).max)
SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
SPOKEN_OF = (
    *("adjacency", "class", "diverged", "edge_index", "edges", "features", "label", "nodes", "test", "validation"),
)

ordinary = st.floats(-8, 8, width=32)
extreme = st.sampled_from([0.0, -0.0, 1.0, SMALLEST, 1e-30, 1e19, 1e30, LARGEST, -LARGEST])
refused = st.sampled_from([np.nan, np.inf, -np.inf, 1e39, -1e300])
names = st.text("0123aA .|,é\u0301\u202e\U0001f600", min_size=1, max_size=4)  # 1 and 01, é and é are near each other

Result = TypeVar("Result")


def repeatable(examples: int) -> settings:
    """The same examples in every run of the tests."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=slow)


def tables(values: st.SearchStrategy[float], rows: int, columns: int) -> st.SearchStrategy[list[list[float]]]:
    row = st.lists(values, min_size=columns, max_size=columns)
    return st.lists(row, min_size=rows, max_size=rows)


@st.composite
def any_arrays(draw: st.DrawFn) -> dict[str, Any]:
    """What may be handed to ``Graph.build``, often with one of the arrays drawn without care."""
    careless = draw(st.sampled_from(["nothing", "nothing", "edges", "features", "labels", *PARTS]))
    count = draw(st.integers(1, 12))
    node, any_node = st.integers(0, count - 1), st.integers(-1, count)
    values = ordinary | extreme | refused if careless == "features" else ordinary | extreme
    features: Any = np.array(draw(tables(values, count, draw(st.integers(0 if careless == "features" else 1, 4)))))
    any_labels = st.lists(st.integers(-2, 3) | st.sampled_from([-100, 2**40]), min_size=count - 1, max_size=count + 1)
    labels = st.lists(st.integers(0, 3), min_size=count, max_size=count)
    split = draw(st.lists(st.sampled_from(PARTS), min_size=count, max_size=count))
    arrays: dict[str, Any] = {
        "edges": draw(st.lists(st.tuples(*[any_node if careless == "edges" else node] * 2), max_size=20)),
        "features": sp.csr_matrix(features) if draw(st.booleans()) else features,
        "labels": draw(any_labels if careless == "labels" else labels),
        **{part: [place for place, chosen in enumerate(split) if chosen == part] for part in PARTS},
    }
    if careless in PARTS:
        mask = st.lists(st.booleans(), min_size=count, max_size=count + 1).map(lambda part: np.array(part, dtype=bool))
        arrays[careless] = draw(st.lists(any_node, max_size=4) | mask)
    return arrays


@st.composite
def matrices(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """An adjacency, features and labels as they may be handed to the estimator, often with one of them wrong."""
    wrong = draw(st.sampled_from(["nothing", "nothing", "nothing", "weights", "edges", "features", "rows", "labels"]))
    count = draw(st.integers(10, 14))
    node = st.integers(0, count - 1)
    edges = np.array(draw(st.lists(st.tuples(node, node), max_size=20, unique=True)), dtype=np.int64).reshape(-1, 2)
    weight = draw(st.sampled_from([0, 2, -1, np.nan])) if wrong == "weights" else 1
    adjacency = sp.coo_matrix((np.full(len(edges), weight), edges.T), shape=(count, count))
    forms = [edges] if wrong == "edges" else [adjacency, adjacency.tocsr(), adjacency.toarray(), edges.T]
    values = ordinary | extreme | refused if wrong == "features" else ordinary | extreme
    features = np.array(draw(tables(values, count + (wrong == "rows"), draw(st.integers(1, 3)))))
    kinds = [ordinary] if wrong == "labels" else [st.integers(0, 2), st.sampled_from(["a", "b"]), st.booleans()]
    labels = draw(st.lists(draw(st.sampled_from(kinds)), min_size=count, max_size=count))
    given = [features, sp.csr_matrix(features), torch.from_numpy(features)]
    return draw(st.sampled_from(forms)), draw(st.sampled_from(given)), labels


@st.composite
def raw_graphs(draw: st.DrawFn) -> RawGraph:
    """A graph that can be read: loops, duplicates, isolated nodes, holes in the labels, and mostly enough of them."""
    kind = draw(st.sampled_from(["validated", "validated", "cross-fitted", "whatever"]))
    count, columns = draw(st.integers(10 if kind == "cross-fitted" else 3, 12)), draw(st.integers(1, 4))
    node = st.integers(0, count - 1)
    features: Any = np.array(draw(tables(ordinary | extreme, count, columns)), dtype=np.float32)
    labels = draw(st.lists(st.sampled_from(["a", "01", "1", None]), min_size=count, max_size=count))
    split = [draw(st.sampled_from(["train", *PARTS, ""])) if label else "" for label in labels]
    if kind == "validated":
        labels[:3], split[:3] = ["a", "1", "01"], ["train", "train", "validation"]
    elif kind == "cross-fitted":
        labels = ["a", "1", "a", "1", *(label or "1" for label in labels[4:])]
    return RawGraph(
        name="graph",
        ids=draw(st.lists(names, min_size=count, max_size=count, unique=True)),
        edges=np.array(draw(st.lists(st.tuples(node, node), max_size=20)), dtype=np.int64).reshape(-1, 2),
        features=sp.csr_matrix(features) if draw(st.booleans()) else features,
        feature_names=draw(st.lists(names, min_size=columns, max_size=columns, unique=True)),
        labels=labels,
        split=None if kind == "cross-fitted" else split,
    )


def permuted(raw: RawGraph, order: Sequence[int], columns: Sequence[int]) -> RawGraph:
    """The same named nodes and features in another order, edges turned round, in reverse and the first one twice."""
    edges = np.argsort(order)[raw.edges]
    return RawGraph(
        raw.name,
        [raw.ids[node] for node in order],
        np.concatenate([edges[::-1, ::-1], edges[:1]]),
        raw.features[list(order)][:, list(columns)],
        [(raw.feature_names or [])[column] for column in columns],
        [(raw.labels or [])[node] for node in order],
        None if raw.split is None else [raw.split[node] for node in order],
    )


@st.composite
def graphs_and_orders(draw: st.DrawFn) -> tuple[RawGraph, RawGraph]:
    """A graph, and the same in another order."""
    raw = draw(raw_graphs())
    nodes, columns = (draw(st.permutations(range(size))) for size in raw.features.shape)
    return raw, permuted(raw, nodes, columns)


def attempt(action: Callable[[], Result], *allowed: type[Exception]) -> tuple[Result | None, str]:
    """The result, or the error."""
    try:
        return action(), ""
    except allowed as error:
        return None, str(error)


def fitted(raw: RawGraph, variant: tuple[str, str]) -> Run:
    method, preset = variant
    graph = raw.build()
    request = RunRequest(graph, method=method, preset=preset, overrides={"epochs": 2, **QUICK.get(method, {})})
    with computing_with(1):
        return fit_in_memory(graph, request.settings(), run_config(request), notify=lambda _: None)


def files(run: Run) -> list[str]:
    """What a run directory would say of nodes, labels and edges."""
    tables = [
        prediction_table(run, torch.arange(run.prepared.num_nodes)),
        label_errors_table(run),
        disagreeing_edges_table(run),
    ]
    return [csv_bytes(table).decode() for table in tables]


def check_finite(run: Run) -> None:
    """Probabilities are some, and nothing that is written is NaN or infinite."""
    for probabilities in (run.prediction.raw_probabilities, run.assessment.probabilities):
        assert torch.isfinite(probabilities).all()
        torch.testing.assert_close(probabilities.sum(1), probabilities.new_ones(len(probabilities)))
    for text in files(run):
        words = {word for line in text.splitlines() for word in line.split(",")}
        assert words.isdisjoint({"nan", "inf", "-inf"}), text


@repeatable(150)
@given(arrays=any_arrays())
def test_arrays_are_a_whole_graph_or_an_error_that_names_one_of_them(arrays: dict[str, Any]) -> None:
    graph, complaint = attempt(lambda: Graph.build(**arrays), DataError)
    if graph is None:
        assert any(name in complaint for name in arrays), complaint
        return
    dense = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.long)
    dense[graph.adjacency.rows, graph.adjacency.indices] += 1
    for source, target in arrays["edges"]:
        assert dense[source, target] == dense[target, source] == 1
    assert (dense.diagonal() == 1).all()
    assert int(dense.sum()) == graph.adjacency.num_entries == graph.num_nodes + 2 * graph.edge_counts.unique
    parts = [getattr(graph, part) for part in PARTS]
    assert len(torch.cat(parts)) == len(torch.cat(parts).unique())
    assert (graph.labels[torch.cat(parts)] >= 0).all()


@repeatable(150)
@given(pair=graphs_and_orders())
def test_no_order_of_nodes_columns_and_edges_makes_another_graph(pair: tuple[RawGraph, RawGraph]) -> None:
    one, other = (attempt(raw.build, DataError) for raw in pair)
    assert one[1] == other[1]
    if one[0] is not None and other[0] is not None:
        assert one[0].fingerprint == other[0].fingerprint
        assert (one[0].node_names, one[0].feature_names) == (other[0].node_names, other[0].feature_names)


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
@repeatable(6)
@given(pair=graphs_and_orders())
def test_every_method_gives_an_error_or_a_finite_result_that_no_order_changes(
    variant: tuple[str, str], pair: tuple[RawGraph, RawGraph]
) -> None:
    (run, complaint), (other, another) = (
        attempt(lambda raw=raw: fitted(raw, variant), DataError, DivergedError) for raw in pair
    )
    assert complaint == another
    if run is None or other is None:
        assert complaint
        return
    check_finite(run)
    assert files(run) == files(other)


@pytest.mark.parametrize("method", METHODS)
@repeatable(10)
@given(arrays=matrices(), validation=st.sampled_from([0.0, 0.0, 0.3]))
def test_the_estimator_gives_finite_probabilities_or_says_what_is_wrong(
    method: str, arrays: tuple[Any, Any, Any], validation: float
) -> None:
    estimator = ConfGCNClassifier(
        method=method, settings={"epochs": 2, **QUICK.get(method, {})}, validation=validation, random_state=1
    )
    fit, complaint = attempt(lambda: estimator.fit(*arrays), ConfGCNError)
    if fit is None:
        assert any(word in complaint for word in SPOKEN_OF), complaint
        return
    probabilities = fit.predict_proba()
    assert probabilities.shape == (len(arrays[2]), len(fit.classes_))
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(1), 1.0, rtol=1e-6)
    assert set(fit.predict().tolist()) <= set(fit.classes_.tolist())
