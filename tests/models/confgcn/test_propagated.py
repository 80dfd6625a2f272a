"""The model that propagates first: its objective by hand, what a step reads, and what it must not depend on."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.data.synthetic import block_model
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.models.base import Prediction, Shape
from confgcn.models.confgcn import channel_inputs, propagated
from confgcn.models.confgcn.learned_influence import LearnedInfluence
from confgcn.models.confgcn.propagated import SMALLEST_VARIANCE, WARM_UP, PropagatedConfGCN, consensus_loss
from confgcn.models.confgcn.propagation import uniform_propagation
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe
from confgcn.training.seed import seeded

APART: dict[str, Any] = {"channels": "apart", "label_channel": True, "normalise": "columns", "unit_length": False}
VARIANTS: dict[str, dict[str, Any]] = {
    "summed": {},
    "gains": {"normalise": "gains", "num_layers": 1},
    "apart": APART,
    "own": {"channels": "own", "num_layers": 3},
}


def model_of(graph: Graph, **options: Any) -> PropagatedConfGCN:
    with seeded(0):
        model = PropagatedConfGCN(Shape.of(graph), **options)
        model.setup(graph.training_view())
    return model.eval()


def taught_model(graph: Graph, teacher: PropagatedConfGCN) -> PropagatedConfGCN:
    """With the weights of ``model_of``, and with the influence that the label scores of the teacher give."""
    with seeded(0):
        model = PropagatedConfGCN(Shape.of(graph), influence="learned")
        model.learn_influence_from(LearnedInfluence([teacher]))
        model.setup(graph.training_view())
    return model.eval()


def trained(graph: Graph, *, epochs: int = 20, **options: Any) -> TrainingLoop:
    with seeded(0):
        loop = TrainingLoop(PropagatedConfGCN(Shape.of(graph), **options), graph, Recipe(epochs=epochs, select="last"))
        loop.fit()
    return loop


@pytest.fixture(params=list(VARIANTS))
def options(request: pytest.FixtureRequest) -> dict[str, Any]:
    return VARIANTS[request.param]


# L_const


def test_the_consensus_loss_is_the_distance_to_the_sharpened_mean() -> None:
    views = torch.tensor([[[0.9, 0.1]], [[0.7, 0.3]]])  # mean 0.8, 0.2; squared and divided by their sum
    target = torch.tensor([0.64, 0.04]) / 0.68
    expected = sum(((view - target) ** 2).sum() for view in views[:, 0])
    torch.testing.assert_close(consensus_loss(views, 0.5), expected)


def test_nodes_without_a_clear_consensus_have_no_target() -> None:
    unclear = torch.tensor([[[0.74, 0.26]], [[0.74, 0.26]]])  # below 0.75
    assert consensus_loss(unclear, 0.5) == 0.0
    four = torch.tensor([[[0.52, 0.16, 0.16, 0.16]]] * 2)  # above 2/4
    assert consensus_loss(four, 0.5) > 0.0


def test_no_gradient_reaches_the_target() -> None:
    views = torch.tensor([[[0.9, 0.1]], [[0.7, 0.3]]], requires_grad=True)
    consensus_loss(views, 0.5).backward()
    target = torch.tensor([0.64, 0.04]) / 0.68
    torch.testing.assert_close(views.grad, 2 * (views.detach() - target))


def test_the_loss_is_finite_where_a_probability_is_zero() -> None:
    views = torch.tensor([[[1.0, 0.0]], [[1.0, 0.0]]], requires_grad=True)
    consensus_loss(views, 0.1).backward()
    assert torch.isfinite(views.grad).all()


@pytest.mark.parametrize("steps", [1, WARM_UP // 2, 3 * WARM_UP])
def test_the_objective_has_the_cross_entropy_of_every_view_and_a_rising_consensus_term(steps: int) -> None:
    graph = block_model(120, seed=1).training_view()
    model = model_of(graph, lambda_const=0.5)
    model.steps.fill_(steps)
    nodes = torch.tensor([int(graph.train[0]), int(graph.train[1]), *(graph.labels < 0).nonzero()[:3, 0].tolist()])
    views = 5 * torch.randn(2, 5, 4)
    terms = model.loss_terms(graph, Prediction(views.mean(0), nodes=nodes, views=views))
    logs, labels = views.log_softmax(-1), graph.labels[nodes[:2]]
    cross = -sum(logs[m, v, labels[v]] for m in range(2) for v in range(2)) / 4
    const = consensus_loss(views[:, 2:].softmax(-1), model.sharpening) / 6
    torch.testing.assert_close(terms["cross"].value(), cross)
    torch.testing.assert_close(terms["const"].value(), 0.5 * min(1.0, steps / WARM_UP) * const)


# Predictions


def test_confidences_follow_from_the_label_scores(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    prediction = model_of(graph).predict(graph)
    mu = prediction.logits.softmax(-1)
    torch.testing.assert_close(prediction.mu, mu)
    torch.testing.assert_close(prediction.precision, 1 / (mu * (1 - mu) + SMALLEST_VARIANCE))
    assert torch.equal(prediction.influence, uniform_propagation(graph).influence)


def test_summed_channels_are_unit_rows_of_the_propagated_unit_rows(six_nodes: Graph) -> None:
    graph = six_nodes.training_view()
    inputs = model_of(graph, order=2, decay=0.5).inputs(graph)
    (channel,) = inputs.channels(torch.arange(6), lambda table: table.normalised())
    walk = torch.zeros(6, 6)
    walk[graph.adjacency.rows, graph.adjacency.indices] = uniform_propagation(graph).influence
    rows = (torch.eye(6) + walk / 2 + walk @ walk / 4) / 1.75
    unit = graph.features / graph.features.norm(dim=1, keepdim=True)
    torch.testing.assert_close(channel, torch.nn.functional.normalize(rows @ unit))


def test_channels_apart_are_own_features_and_hops_without_return(six_nodes: Graph) -> None:
    graph = six_nodes.training_view()
    own, first, second, labels = (
        model_of(graph, **APART).inputs(graph).channels(torch.arange(6), lambda table: table.normalised())
    )
    walk = torch.zeros(6, 6)
    walk[graph.adjacency.rows, graph.adjacency.indices] = uniform_propagation(graph).without_loops
    twice = (walk @ walk).fill_diagonal_(0.0)
    twice = twice / twice.sum(1, keepdim=True).masked_fill(twice.sum(1, keepdim=True) == 0, 1.0)
    assert torch.equal(own, graph.features)
    torch.testing.assert_close(first, walk @ graph.features)
    torch.testing.assert_close(second, twice @ graph.features)
    assert labels.shape == (6, 2 * 3 + 3)


def test_evidence_is_the_share_of_labelled_nodes_in_a_row(six_nodes: Graph) -> None:
    graph = six_nodes.training_view()
    evidence = model_of(graph, order=1, decay=0.0).evidence(graph)
    # c = 1/2, 1/2; node 3: half of itself and a third each of 1, 2 (labelled) and 3
    assert float(evidence[3]) == pytest.approx(1 / 3)
    assert float(evidence[5]) == 0.0


def test_some_nodes_are_predicted_as_among_all(small_graph: Graph, options: dict[str, Any]) -> None:
    graph = small_graph.training_view()
    model, nodes = model_of(graph, **options), torch.tensor([5, 0, 77])
    torch.testing.assert_close(model.predict(graph, nodes).logits, model.predict(graph).logits[nodes])


def test_nodes_whose_channels_are_too_large_to_keep_are_predicted_the_same(
    small_graph: Graph, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = small_graph.training_view()
    model = model_of(graph, **options)
    expected = model.predict(graph, graph.validation).logits
    assert len(model.inputs(graph)._kept) == 1
    model.forget_inputs()
    monkeypatch.setattr(channel_inputs, "MOST_KEPT", 0)
    monkeypatch.setattr(propagated, "BLOCK_ROWS", 7)
    torch.testing.assert_close(model.predict(graph, graph.validation).logits, expected)
    assert not model.inputs(graph)._kept


def test_nodes_that_were_changed_in_place_are_predicted_anew(small_graph: Graph, options: dict[str, Any]) -> None:
    graph, nodes = small_graph.training_view(), torch.tensor([5, 0, 77])
    model = model_of(graph, **options)
    before = model.predict(graph, nodes).logits
    nodes.copy_(torch.tensor([9, 31, 2]))
    found = model.predict(graph, nodes)
    assert not torch.equal(found.logits, before)
    torch.testing.assert_close(found.logits, model.predict(graph).logits[[9, 31, 2]])
    assert not model.inputs(graph)._kept


def test_blocks_of_rows_give_the_same_prediction(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = small_graph.training_view()
    model = model_of(graph)
    whole = model.predict(graph).logits
    monkeypatch.setattr(propagated, "BLOCK_ROWS", 7)
    torch.testing.assert_close(model.predict(graph).logits, whole)


@pytest.mark.parametrize("are_kept", [True, False])
def test_the_network_receives_some_nodes_in_blocks_of_rows_too(
    small_graph: Graph, options: dict[str, Any], are_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = small_graph.training_view()
    model = model_of(graph, **options)
    expected = model.predict(graph).logits[graph.validation]
    sizes: list[int] = []
    model.network.register_forward_hook(lambda _, __, logits: sizes.append(len(logits)))
    monkeypatch.setattr(propagated, "BLOCK_ROWS", 7)
    nodes = graph.validation if are_kept else graph.validation.clone()
    torch.testing.assert_close(model.predict(graph, nodes).logits, expected)
    assert bool(model.inputs(graph)._kept) == are_kept
    assert sizes == [7, 7, 7, 7, 2]


def test_sparse_features_are_predicted_as_dense_ones(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    graph = block_model(120, seed=1).training_view()
    values = graph.features.clamp(min=0.0)
    edges = torch.stack([graph.adjacency.indices, graph.adjacency.rows], dim=1).numpy()
    sparse = Graph.build(edges, sp.csr_matrix(values.numpy()), graph.labels.numpy(), train=graph.train.numpy())
    model = model_of(graph.with_features(values), **{**options, "normalise": "none"})
    expected = model.predict(graph.with_features(values)).logits
    torch.testing.assert_close(model.predict(sparse).logits, expected)  # made dense: few columns
    monkeypatch.setattr(channel_inputs, "DENSE_COLUMNS", 0)
    torch.testing.assert_close(model.predict(sparse).logits, expected)


def test_new_nodes_are_predicted_without_training(small_graph: Graph, options: dict[str, Any]) -> None:
    model = trained(small_graph, **options).method
    before = {name: value.clone() for name, value in model.state_dict().items()}
    edges = torch.stack([small_graph.adjacency.indices, small_graph.adjacency.rows], dim=1).tolist()
    features = torch.cat([small_graph.features, small_graph.features[:2]])
    larger = Graph.build(
        [*edges, (120, 0)], features.numpy(), [*small_graph.labels.tolist(), -1, -1], train=small_graph.train.numpy()
    )
    extended = model.extend(larger)
    logits = extended.predict(larger.training_view()).logits
    assert logits.shape == (122, 4)
    assert torch.isfinite(logits).all()
    assert all(torch.equal(value, before[name]) for name, value in extended.state_dict().items())


# A step


def rows_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that are read from tables from now on."""
    read: list[int] = []
    of = PropagationRows.of

    def counted(rows: PropagationRows, nodes: torch.Tensor) -> PropagationRows:
        read.append(len(nodes))
        return of(rows, nodes)

    monkeypatch.setattr(PropagationRows, "of", counted)
    return read


def test_a_step_reads_as_many_rows_in_a_larger_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    read = rows_read(monkeypatch)
    largest = []
    for size in (1000, 4000):
        graph = block_model(size, seed=0, per_class=10).training_view()
        model = model_of(graph, labelled_batch=20)
        read.clear()
        for _ in range(5):
            model.train()(graph)
        largest.append(max(read))
    assert all(number <= 20 + propagated.UNLABELLED for number in largest)


def test_a_step_needs_no_views_of_other_nodes_without_a_consensus_term(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    prediction = model_of(graph, lambda_const=0.0).train()(graph)
    assert prediction.views.shape == (1, len(graph.train), 4)
    assert prediction.nodes.tolist() == graph.train.tolist()


WHOLE_ROWS = {"view_size": 0, "lambda_const": 0.0}


@pytest.mark.parametrize("labelled_batch", [3, 1000])
def test_training_with_whole_rows_has_the_same_loss_from_kept_channels(
    options: dict[str, Any], labelled_batch: int, small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = small_graph.training_view()
    losses, nodes = [], []
    for most_kept in (channel_inputs.MOST_KEPT, 0):
        monkeypatch.setattr(channel_inputs, "MOST_KEPT", most_kept)
        model = model_of(graph, **{**options, **WHOLE_ROWS, "labelled_batch": labelled_batch}).train()
        with seeded(5):
            prediction = model(graph)
        losses.append(model.loss_terms(graph, prediction)["cross"].value())
        nodes.append(prediction.nodes)
        assert bool(model.inputs(graph)._kept) == (most_kept > 0)
    assert torch.equal(nodes[0], nodes[1])
    torch.testing.assert_close(losses[0], losses[1])


def test_the_rows_of_training_and_validation_nodes_are_read_once_where_they_do_not_change(
    small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = small_graph.training_view()
    model, read = model_of(graph, **WHOLE_ROWS), rows_read(monkeypatch)
    for _ in range(3):
        model.train()(graph)
        model.predict(graph, graph.validation)
    assert read == [len(graph.train), len(graph.validation)]


@pytest.mark.parametrize("changing", [{"view_size": 2}, {"lambda_const": 1.0}], ids=str)
def test_rows_are_read_in_every_step_where_they_change(
    changing: dict[str, Any], small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = small_graph.training_view()
    model, read = model_of(graph, **{**WHOLE_ROWS, **changing}).train(), rows_read(monkeypatch)
    first, second = model(graph), model(graph)
    assert len(read) == len(first.views) + len(second.views)
    assert not model.inputs(graph)._kept


def test_views_of_a_step_are_of_the_size_that_was_set(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, sizes = small_graph.training_view(), []
    view = PropagationRows.view

    def recorded(rows: PropagationRows, size: int) -> PropagationRows:
        sizes.append(size)
        return view(rows, size)

    monkeypatch.setattr(PropagationRows, "view", recorded)
    model_of(graph, view_size=5).train()(graph)
    assert sizes == [5] * propagated.VIEWS
    model_of(graph, view_size=0).train()(graph)
    assert len(sizes) == propagated.VIEWS


def test_random_views_differ_and_whole_rows_do_not(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    for size, are_equal in ((2, False), (0, True)):
        model = model_of(graph, view_size=size, num_layers=1, dropout=0.0).train()
        first, second = model(graph).views
        assert torch.equal(first, second) == are_equal


def test_only_nodes_without_a_visible_label_are_drawn_as_unlabelled(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    nodes = model_of(graph, labelled_batch=5).train()(graph).nodes
    assert torch.isin(nodes[:5], graph.train).all()
    assert not torch.isin(nodes[5:], graph.train).any()


def test_a_graph_with_training_nodes_only_is_trained(options: dict[str, Any]) -> None:
    graph = Graph.build([(0, 1), (2, 3)], np.eye(4), [0, 1, 0, 1], train=range(4))
    model = model_of(graph, **options).train()
    terms = model.loss_terms(graph, model(graph))
    assert all(torch.isfinite(term.value()) for term in terms.values())


def test_validation_labels_do_not_change_the_weights(small_graph: Graph, options: dict[str, Any]) -> None:
    labels = small_graph.labels.clone()
    labels[small_graph.validation] = (labels[small_graph.validation] + 1) % 4
    graphs = small_graph, replace(small_graph, labels=labels)
    first, second = (trained(graph, epochs=5, **options).method.state_dict() for graph in graphs)
    assert all(torch.equal(value, second[name]) for name, value in first.items())


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_features_of_any_size_are_trained_to_finite_predictions(
    small_graph: Graph, options: dict[str, Any], scale: float
) -> None:
    graph = small_graph.with_features((small_graph.features * scale).float())
    options = {**options, "normalise": "columns"} if options.get("channels") == "own" else options
    assert torch.isfinite(trained(graph, epochs=5, **options).predict().logits).all()


# What is kept of a graph


def test_no_input_is_out_of_date_after_a_change_of_the_graph(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    edges = torch.stack([graph.adjacency.indices, graph.adjacency.rows], dim=1)[::2].numpy()
    labels = graph.labels.clone()
    labels[graph.train] = (labels[graph.train] + 1) % 4
    rows, columns = graph.adjacency.rows, graph.adjacency.indices
    changed = {
        "features": graph.with_features(graph.features.flip(0)),
        "edge weights": replace(graph, edge_weight=1.0 + ((rows + columns) % 3) * (rows != columns)),
        "labels": replace(graph, labels=labels),
        "edges": Graph.build(edges, graph.features.numpy(), graph.labels, train=graph.train),
    }
    model = model_of(graph, **APART)
    before = model.predict(graph).logits
    for what, other in changed.items():
        fresh = model_of(graph, **APART)
        fresh.load_state_dict(model.state_dict())
        found = model.predict(other).logits
        assert not torch.equal(found, before), what
        assert torch.equal(found, fresh.predict(other).logits), what
    assert torch.equal(model.predict(graph).logits, before)


def test_a_new_teacher_changes_the_rows(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    uniform, first, second = model_of(graph).predict(graph), model_of(graph), model_of(graph, channels="own")
    model = taught_model(graph, first)
    before = model.predict(graph)
    model.learn_influence_from(LearnedInfluence([second]))
    learned = model.predict(graph)
    for other in (uniform, before):
        assert not torch.equal(learned.influence, other.influence)
        assert not torch.equal(learned.logits, other.logits)
    assert torch.equal(learned.logits, taught_model(graph, second).predict(graph).logits)
    control = model.with_uniform_influence().predict(graph)
    assert torch.equal(control.logits, uniform.logits)
    assert torch.equal(model.predict(graph).logits, learned.logits)  # the control does not change the model


def test_a_graph_is_freed_with_its_last_reference(options: dict[str, Any], each_kernels: str) -> None:
    gc.collect()
    gc.disable()
    try:
        graph = block_model(120, seed=1)
        model = model_of(graph, **options)
        model.train()
        torch.stack([term.value() for term in model.loss_terms(graph, model(graph)).values()]).sum().backward()
        kept = weakref.ref(graph), weakref.ref(graph.adjacency)
        del graph
        assert [reference() for reference in kept] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("copied", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy])  # noqa: S301
def test_copies_predict_the_same(small_graph: Graph, copied: Any) -> None:
    graph = small_graph.training_view()
    model = taught_model(graph, model_of(graph))
    expected = model.predict(graph).logits
    assert not torch.equal(expected, model_of(graph).predict(graph).logits)
    assert torch.equal(copied(model).predict(graph).logits, expected)


# Options


@pytest.mark.parametrize("option", ["channels", "normalise", "influence"])
def test_unknown_names_are_refused(six_nodes: Graph, option: str) -> None:
    with pytest.raises(UsageError, match=f"unknown {option} 'typo': choose from"):
        PropagatedConfGCN(Shape.of(six_nodes), **{option: "typo"})


def test_learned_influence_needs_models_to_learn_from(small_graph: Graph) -> None:
    with pytest.raises(UsageError, match="influence = 'learned': expected models to learn it from, got none"):
        model_of(small_graph, influence="learned")
    with pytest.raises(UsageError, match="learn_influence_from"):
        trained(small_graph, epochs=1, influence="learned")


def test_influence_to_choose_is_uniform_without_models_to_learn_from(small_graph: Graph) -> None:
    graph = small_graph.training_view()
    influence = model_of(graph, influence="chosen").predict(graph).influence
    assert torch.equal(influence, uniform_propagation(graph).influence)
