"""New nodes against a finished run: what is kept, what is reported, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph
from confgcn.graph.subgraph import induced_subgraph
from confgcn.runs.new_nodes import _with_mean_precision, predict_new_nodes
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.train import fit_in_memory


def finished(graph: Graph, **changes: object) -> Run:
    request = RunRequest(graph, preset="consensus", overrides={"epochs": 30, **changes})
    return fit_in_memory(graph, request.settings(), run_config(request), notify=lambda _: None)


@pytest.fixture(params=["validated", "cross-fitted"])
def parts(small_graph: Graph, request: pytest.FixtureRequest) -> tuple[Run, RawGraph, Graph]:
    """A run on all but twelve test nodes, and the raw graph of all."""
    graph = small_graph
    if request.param == "cross-fitted":
        graph = replace(graph, validation=graph.validation[:0])
    kept = torch.ones(120, dtype=torch.bool)
    kept[graph.test[:12]] = False
    old = induced_subgraph(graph, kept.nonzero().squeeze(1))
    return finished(raw_from_graph(old).build()), raw_from_graph(graph), graph


def test_known_nodes_keep_their_prediction_and_new_ones_are_predicted(
    parts: tuple[Run, RawGraph, Graph],
) -> None:
    run, raw, graph = parts
    found = predict_new_nodes(run, raw)
    known, new = found.extended.extension.known, found.extended.extension.new
    assert new.tolist() == graph.test[:12].tolist()
    assert torch.equal(found.prediction.logits[known], run.prediction.logits)
    assert torch.equal(found.assessment.probabilities[known], run.assessment.probabilities)
    assert torch.equal(found.assessment.accepted[known], run.assessment.accepted)
    assert torch.equal(found.assessment.sets[known], run.assessment.sets)
    assert found.assessment.probabilities.isfinite().all()
    assert found.assessment.sets[new].any(1).all()
    right = (found.prediction.logits[new].argmax(1) == graph.labels[new]).double().mean()
    assert right > 0.6


def test_known_nodes_are_predicted_again_only_on_request(parts: tuple[Run, RawGraph, Graph]) -> None:
    run, raw, _ = parts
    found = predict_new_nodes(run, raw, update_existing=True)
    known = found.extended.extension.known
    assert not torch.equal(found.prediction.logits[known], run.prediction.logits)
    kept = predict_new_nodes(run, raw)
    new = found.extended.extension.new
    assert torch.equal(found.prediction.logits[new], kept.prediction.logits[new])
    assert torch.equal(found.prediction.mu[known], run.prediction.mu)  # theirs stay in either case


def test_labels_of_new_nodes_change_no_prediction(parts: tuple[Run, RawGraph, Graph]) -> None:
    run, raw, graph = parts
    wrong = list(raw.labels)
    for node in graph.test[:12].tolist():
        wrong[node] = graph.class_names[(int(graph.labels[node]) + 1) % 4]
    one, other = (predict_new_nodes(run, replace(raw, labels=texts)) for texts in (raw.labels, wrong))
    assert torch.equal(one.prediction.logits, other.prediction.logits)
    assert torch.equal(one.assessment.probabilities, other.assessment.probabilities)


def test_the_order_of_new_nodes_changes_nothing(parts: tuple[Run, RawGraph, Graph]) -> None:
    run, raw, _ = parts
    order = np.random.default_rng(0).permutation(120)
    place = np.argsort(order)
    shuffled = replace(
        raw,
        ids=[raw.ids[row] for row in order],
        edges=place[raw.edges][::-1],
        features=raw.features[order],
        labels=[raw.labels[row] for row in order],
        split=None,
    )
    one, other = (predict_new_nodes(run, given) for given in (raw, shuffled))
    assert torch.equal(one.prediction.logits, other.prediction.logits)
    assert other.extended.extension.listed.tolist() == order.tolist()


def test_isolated_and_far_new_nodes_get_finite_answers(parts: tuple[Run, RawGraph, Graph]) -> None:
    run = parts[0]
    new = RawGraph("new", ["z1", "z2", "z3"], np.array([[0, 1]]), np.zeros((3, 32)))
    found = predict_new_nodes(run, new)
    assert found.prediction.logits.isfinite().all()
    alone = found.extended.extension.listed[2]
    assert found.assessment.probabilities[alone].max() < 0.9  # of a node without features and neighbours


def test_a_graph_changed_on_purpose_takes_no_nodes(small_graph: Graph) -> None:
    run = finished(small_graph, flipped_labels=0.2)
    with pytest.raises(UsageError, match="perturbed graph"):
        predict_new_nodes(run, raw_from_graph(small_graph))


def test_calibration_sees_new_nodes_with_the_usual_precision(parts: tuple[Run, RawGraph, Graph]) -> None:
    run, raw, _ = parts
    found = predict_new_nodes(run, raw)
    seen = _with_mean_precision(found.prediction, found.extended.extension)
    usual = found.prediction.precision[found.extended.extension.known].mean(0)
    torch.testing.assert_close(seen.precision[found.extended.extension.new], usual.expand(12, -1))
    assert torch.equal(
        seen.precision[found.extended.extension.known], found.prediction.precision[found.extended.extension.known]
    )
    assert not torch.equal(seen.precision, found.prediction.precision)  # what is handed out is the nodes' own


def test_features_too_large_for_the_weights_give_an_error_and_no_label(small_graph: Graph) -> None:
    run = finished(small_graph)
    huge = np.full((1, small_graph.num_features), np.finfo(np.float32).max, dtype=np.float32)
    addition = RawGraph("new", ["new", small_graph.node_names[0]], np.array([[0, 1]]), np.vstack([huge, huge]))
    addition = replace(addition, num_described=1)
    with pytest.raises(DataError, match=r"the prediction \(logits\) is not finite: features or weights"):
        predict_new_nodes(run, addition)


def test_rows_of_new_nodes_are_computed_and_a_copy_of_a_node_has_its_prediction(small_graph: Graph) -> None:
    overrides = {"epochs": 30, "search": False, "order": 1, "influence": "uniform"}
    request = RunRequest(small_graph, preset="propagated", overrides=overrides)
    run = fit_in_memory(small_graph, request.settings(), run_config(request), notify=lambda _: None)
    node = int(small_graph.test[0])
    start, end = small_graph.neighbours.indptr[node : node + 2].tolist()
    neighbours = small_graph.neighbours.indices[start:end].tolist()
    names = ["copy", *(small_graph.node_names[each] for each in neighbours)]
    features = np.asarray(small_graph.features)[[node, *neighbours]]
    edges = np.array([[0, place] for place in range(1, len(names))])
    addition = RawGraph("new", names, edges, features)
    kept, again = (predict_new_nodes(run, addition, update_existing=update) for update in (False, True))
    known, (new,) = kept.extended.extension.known, kept.extended.extension.new
    assert torch.equal(kept.prediction.logits[known], run.prediction.logits)
    assert not torch.equal(again.prediction.logits[known], run.prediction.logits)
    torch.testing.assert_close(again.prediction.logits[new], again.prediction.logits[known[node]])
    assert torch.equal(kept.prediction.logits[new], again.prediction.logits[new])
    assert all(torch.equal(*pair) for pair in zip(run.method.parameters(), kept.method.parameters(), strict=True))
