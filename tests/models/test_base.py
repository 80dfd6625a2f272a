"""The contract: every check on every method of the table."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_origin

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, LossTerm, Prediction, Shape, cross_entropy, objective, require
from confgcn.models.confgcn import propagation
from confgcn.models.registry import METHODS, method_class
from confgcn.runs.settings import hyperparameters, preset_names, resolve
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe
from confgcn.training.saved_state import restore, state_of
from confgcn.training.seed import seeded

VARIANTS = [(method, preset) for method in METHODS for preset in preset_names(method)]
SHORT = Recipe(epochs=4)
# Fewer steps for methods that take many; every kind of step is still taken.
QUICK: dict[str, dict[str, object]] = {
    "deepwalk": {"walks_per_node": 2, "num_passes": 1, "walk_length": 8},
    "planetoid": {"label_steps": 1, "graph_steps": 1, "graph_share": 1.0},
}
SOLVED = [variant for variant in VARIANTS if variant[0] in ("label_propagation", "mani_reg", "taco")]
GRAPH_ONLY = [variant for variant in VARIANTS if "features" not in METHODS[variant[0]].uses]
# These draw nodes, pairs or walks by their number: with other numbers they train on other draws.
DRAWING = [v for v in VARIANTS if v[0] in ("deepwalk", "planetoid", "semi_emb") or v == ("confgcn", "propagated")]


def build(variant: tuple[str, str], graph: Graph, **changes: object) -> AbstractMethod:
    make = method_class(*variant)
    known = hyperparameters(make).model_fields
    changes = {name: value for name, value in changes.items() if name in known}
    settings = resolve(*variant, graph.name, {**QUICK.get(variant[0], {}), **changes})
    return make(Shape.of(graph), **settings.model)


def fitted(variant: tuple[str, str], graph: Graph, *, seed: int = 0, **changes: object) -> TrainingLoop:
    with seeded(seed):
        loop = TrainingLoop(build(variant, graph, **changes), graph, SHORT)
        loop.fit()
    return loop


def permuted(graph: Graph, order: torch.Tensor) -> Graph:
    """The same graph with node ``order[i]`` at position i."""
    position = torch.argsort(order)
    edges = torch.stack([position[graph.adjacency.indices], position[graph.adjacency.rows]], dim=1)
    splits = {split: position[getattr(graph, split)].numpy() for split in ("train", "validation", "test")}
    return Graph.build(edges.numpy(), graph.features[order].numpy(), graph.labels[order].numpy(), **splits)


@pytest.fixture(params=VARIANTS, ids=lambda variant: "-".join(variant))
def variant(request: pytest.FixtureRequest) -> tuple[str, str]:
    return request.param


def test_logits_have_the_right_shape_and_probabilities_sum_to_one(variant: tuple[str, str], six_nodes: Graph) -> None:
    prediction = fitted(variant, six_nodes).predict()
    assert prediction.logits.shape == (6, 3)
    torch.testing.assert_close(prediction.raw_probabilities.sum(1), torch.ones(6))
    has_confidences = "confidences" in METHODS[variant[0]].uses
    for quantity in (prediction.mu, prediction.precision):
        assert (quantity is not None) == has_confidences
        assert quantity is None or (quantity.shape == (6, 3) and torch.isfinite(quantity).all())


def test_a_prediction_needs_no_gradient(variant: tuple[str, str], six_nodes: Graph) -> None:
    prediction = build(variant, six_nodes).predict(six_nodes.training_view())
    given = [value for value in vars(prediction).values() if value is not None]
    assert given
    assert not any(value.requires_grad for value in given)


@pytest.mark.parametrize("training", [True, False])
def test_a_prediction_leaves_the_method_in_the_mode_it_was_in(six_nodes: Graph, training: bool) -> None:
    method = build(("gcn", "default"), six_nodes).train(training)
    method.predict(six_nodes.training_view())
    assert [module.training for module in method.modules()] == [training] * len(list(method.modules()))


def test_same_seed_same_bits_other_seed_other_bits(variant: tuple[str, str], small_graph: Graph) -> None:
    first, second, other = (fitted(variant, small_graph, seed=seed).predict().logits for seed in (3, 3, 4))
    assert torch.equal(first, second)
    assert torch.equal(first, other) is (variant in SOLVED)  # solvers draw no random numbers


def test_permuted_nodes_permute_the_outputs(
    variant: tuple[str, str], small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(propagation, "WIDTHS", (120, 120))  # whole rows: of equal ones the numbers of nodes choose
    order = torch.randperm(120, generator=torch.Generator().manual_seed(0))
    graph, twin = small_graph, permuted(small_graph, order)
    with seeded(0):
        methods = [build(variant, g, dropout=0.0, node_dropout=0.0).double() for g in (graph, twin)]
        loops = [
            TrainingLoop(method, replace(g, features=g.features.double()), SHORT)
            for method, g in zip(methods, (graph, twin), strict=True)
        ]
        if variant in DRAWING:
            loops[0].fit()
        state = loops[0].method.state_dict()
        moved = {name: value[order] if value.shape[:1] == (120,) else value for name, value in state.items()}
        loops[1].method.load_state_dict(moved)
        if variant not in DRAWING:
            loops[0].fit()
            loops[1].fit()
    original, shuffled = (loop.predict().logits for loop in loops)
    torch.testing.assert_close(shuffled, original[order], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("variant", SOLVED, ids="-".join)
def test_methods_that_solve_equations_do_not_depend_on_the_order_of_nodes(
    variant: tuple[str, str], small_graph: Graph
) -> None:
    order = torch.randperm(120, generator=torch.Generator().manual_seed(0))
    original, shuffled = (fitted(variant, g).predict().logits for g in (small_graph, permuted(small_graph, order)))
    torch.testing.assert_close(shuffled, original[order], rtol=1e-5, atol=1e-6)


def test_labels_outside_the_training_set_change_no_bit(variant: tuple[str, str], small_graph: Graph) -> None:
    labels = small_graph.labels.clone()
    labels[small_graph.test] = (labels[small_graph.test] + 1) % 4
    altered = replace(small_graph, labels=labels)
    before, after = (fitted(variant, graph).predict().logits for graph in (small_graph, altered))
    assert torch.equal(before, after)


def test_saved_weights_give_the_same_predictions(variant: tuple[str, str], small_graph: Graph) -> None:
    loop = fitted(variant, small_graph)
    twin = build(variant, small_graph)
    twin.load_state_dict(loop.method.state_dict())
    assert torch.equal(twin.eval()(small_graph.training_view()).logits, loop.predict().logits)


def test_training_goes_on_from_a_saved_state_to_the_same_bits(variant: tuple[str, str], small_graph: Graph) -> None:
    undisturbed = fitted(variant, small_graph)
    with seeded(0):
        stopped = TrainingLoop(build(variant, small_graph), small_graph, SHORT)
        for _ in range(0 if stopped.finished else 2):
            stopped.run_epoch()
        tensors, record = state_of(stopped)
    saved = {name: value.clone() for name, value in tensors.items()}
    with seeded(7):  # a new process has another random state
        resumed = TrainingLoop(build(variant, small_graph), small_graph, SHORT)
        restore(resumed, saved, record)
        resumed.fit()
    assert torch.equal(resumed.predict().logits, undisturbed.predict().logits)
    assert resumed.history == undisturbed.history


def test_isolated_node_and_component_without_labels_are_finite(variant: tuple[str, str]) -> None:
    graph = Graph.build([(0, 1), (2, 3)], np.eye(5), [0, 1, 0, 1, 0], train=[0, 1], validation=[2], test=[3, 4])
    assert torch.isfinite(fitted(variant, graph).predict().logits).all()


@pytest.mark.parametrize("variant", GRAPH_ONLY, ids="-".join)
def test_methods_without_features_give_the_prior_where_no_label_reaches(variant: tuple[str, str]) -> None:
    edges = [(0, 1), (1, 2), (2, 3), (4, 5)]  # 6 isolated; class 2 has most labels
    graph = Graph.build(edges, np.eye(7), [0, 1, 2, 2, 0, 1, 0], train=[0, 1, 2, 3], validation=[4], test=[5, 6])
    probabilities = fitted(variant, graph).predict().raw_probabilities
    assert torch.equal(probabilities[4], probabilities[5])
    assert torch.equal(probabilities[4], probabilities[6])
    torch.testing.assert_close(probabilities[4], torch.tensor([2 / 7, 2 / 7, 3 / 7]), atol=0.03, rtol=0)
    assert int(probabilities[4].argmax()) == 2


def test_a_node_without_features_neighbours_and_label_gets_the_prior(variant: tuple[str, str]) -> None:
    features = np.eye(6)
    features[5] = 0.0
    edges = [(0, 1), (1, 2), (2, 3), (3, 4)]
    labels = [0, 1, 1, 2, 2, 2]
    graph = Graph.build(edges, features, labels, train=[0, 1, 3, 4], validation=[2], test=[5])
    loop = fitted(variant, graph)
    uninformed = loop.predict().raw_probabilities[5]
    torch.testing.assert_close(uninformed, torch.tensor([2 / 7, 2 / 7, 3 / 7]), atol=0.03, rtol=0)
    assert int(uninformed.argmax()) == 2
    assert int(loop.predict(graph.test).logits_of(graph.test).argmax()) == 2  # also if only some nodes are requested


def test_a_class_without_training_label(variant: tuple[str, str]) -> None:
    graph = Graph.build([(0, 1), (1, 2), (2, 3)], np.eye(4), [0, 1, 2, 2], train=[0, 1], validation=[2], test=[3])
    assert fitted(variant, graph).predict().logits.shape == (4, 3)


def test_one_feature(variant: tuple[str, str], six_nodes: Graph) -> None:
    graph = six_nodes.with_features(six_nodes.features[:, :1])
    assert torch.isfinite(fitted(variant, graph).predict().logits).all()


def test_sparse_and_dense_features_agree(variant: tuple[str, str], small_graph: Graph) -> None:
    values = small_graph.features.clamp(min=0)
    dense = small_graph.with_features(values)
    splits = {split: getattr(small_graph, split).numpy() for split in ("train", "validation", "test")}
    edges = torch.stack([small_graph.adjacency.indices, small_graph.adjacency.rows], dim=1).numpy()
    sparse = Graph.build(edges, sp.csr_matrix(values.numpy()), small_graph.labels.numpy(), **splits)
    results = [fitted(variant, graph, dropout=0.0, node_dropout=0.0).predict().logits for graph in (dense, sparse)]
    torch.testing.assert_close(*results, rtol=1e-3, atol=1e-4)


def test_every_parameter_is_in_exactly_one_group(variant: tuple[str, str], six_nodes: Graph) -> None:
    method = build(variant, six_nodes)
    grouped = [id(parameter) for group in method.parameter_groups() for parameter in group["params"]]
    assert sorted(grouped) == sorted(id(parameter) for parameter in method.parameters())


def test_cross_entropy_is_the_sum_over_the_training_nodes(six_nodes: Graph) -> None:
    logits = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    expected = -sum(logits[v].log_softmax(0)[six_nodes.labels[v]] for v in six_nodes.train.tolist())
    torch.testing.assert_close(cross_entropy(six_nodes, Prediction(logits)), expected)
    assert torch.autograd.gradcheck(lambda x: cross_entropy(six_nodes, Prediction(x)), (logits,))


def test_an_objective_has_no_terms_of_weight_zero() -> None:
    one = torch.tensor(1.0)
    assert list(objective(a=LossTerm(one, weight=0.5), b=LossTerm(one, weight=0.0), c=LossTerm(one))) == ["a", "c"]


def test_a_quantity_that_is_missing_is_an_error() -> None:
    with pytest.raises(TypeError, match="no label scores"):
        require(None)


def test_a_loss_term_is_a_mean_with_a_count_and_a_sum_without() -> None:
    assert LossTerm(torch.tensor(6.0), count=3, weight=2.0).value() == 4.0
    assert LossTerm(torch.tensor(6.0), weight=2.0).value() == 12.0


def weighted(graph: Graph, weights: torch.Tensor) -> Graph:
    """The same graph with weights (undirected edges,) in the order of the adjacency."""
    structure = graph.neighbours
    once = structure.indices < structure.rows
    edges = torch.stack([structure.indices, structure.rows], dim=1)[once]
    splits = {split: getattr(graph, split) for split in ("train", "validation", "test")}
    return Graph.build(edges, graph.features.numpy(), graph.labels, edge_weight=weights[: len(edges)], **splits)


def test_weights_of_one_are_no_weights(variant: tuple[str, str], small_graph: Graph) -> None:
    graph = weighted(small_graph, torch.ones(small_graph.adjacency.num_entries))
    assert graph.edge_weight is not None
    with_weights, without = fitted(variant, graph), fitted(variant, replace(graph, edge_weight=None))
    torch.testing.assert_close(with_weights.predict().logits, without.predict().logits, rtol=1e-4, atol=1e-5)


# These do not use edge weights.
WITHOUT_WEIGHTS = {"feat", "mlp", "deepwalk", "planetoid", "semi_emb"}


def test_a_heavier_edge_changes_the_prediction(variant: tuple[str, str], small_graph: Graph) -> None:
    weights = torch.ones(small_graph.adjacency.num_entries)
    plain, heavy = (
        fitted(variant, weighted(small_graph, w)).predict().logits for w in (weights, 1 + 4 * (weights.cumsum(0) % 3))
    )
    assert torch.equal(plain, heavy) is (variant[0] in WITHOUT_WEIGHTS)


def test_an_edge_of_weight_zero_carries_no_message(variant: tuple[str, str], small_graph: Graph) -> None:
    if variant[0] in WITHOUT_WEIGHTS | {"gpnn"}:  # whose partition follows the edges
        pytest.skip("reads no weights")
    structure = small_graph.neighbours
    once = structure.indices < structure.rows
    edges = torch.stack([structure.indices, structure.rows], dim=1)[once]
    kept = torch.arange(len(edges)) % 4 > 0
    splits = {split: getattr(small_graph, split) for split in ("train", "validation", "test")}
    zero, fewer = (
        Graph.build(
            edges[rows], small_graph.features.numpy(), small_graph.labels, edge_weight=kept[rows].float(), **splits
        )
        for rows in (torch.ones_like(kept), kept)
    )
    logits = [fitted(variant, graph, dropout=0.0, node_dropout=0.0).predict().logits for graph in (zero, fewer)]
    torch.testing.assert_close(*logits, rtol=1e-3, atol=1e-4)


STRINGS = [
    ("gcn", "default", "activation"),
    ("gated_gcn", "default", "normalisation"),
    ("gated_gcn", "default", "gate"),
    ("gpnn", "default", "partition"),
    ("planetoid", "default", "variant"),
    ("confgcn", "default", "channels"),
    ("confgcn", "default", "normalise"),
    ("confgcn", "default", "influence"),
    ("confgcn", "consensus", "influence"),
    ("confgcn", "consensus", "smooth_over"),
    ("confgcn", "paper", "activation"),
    ("confgcn", "paper", "influence"),
    ("confgcn", "paper", "normalisation"),
    ("confgcn", "released", "activation"),
    ("confgcn", "released", "const_over"),
    ("confgcn", "released", "influence"),
]


@pytest.mark.parametrize(("name", "preset", "option"), STRINGS)
def test_a_constructor_refuses_unknown_names(name: str, preset: str, option: str, six_nodes: Graph) -> None:
    with pytest.raises(UsageError, match=f"unknown {option} 'typo': choose from"):
        method_class(name, preset)(Shape.of(six_nodes), **{option: "typo"})


def test_every_option_that_is_a_name_is_checked() -> None:
    found = {
        (method, preset, name)
        for method, entry in METHODS.items()
        for preset in ("default", *entry.presets)
        for name, field in hyperparameters(method_class(method, preset)).model_fields.items()
        if get_origin(field.annotation) is Literal
    }
    assert found == set(STRINGS)
