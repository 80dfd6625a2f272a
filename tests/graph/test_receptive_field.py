"""What a prediction of some nodes reads, by hand on six nodes; and that the rest is never missed."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import random as random_sparse
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod, Prediction, Shape
from confgcn.models.baselines.gcn import GCN
from confgcn.models.confgcn.paper import PaperConfGCN
from confgcn.models.confgcn.released import ReleasedConfGCN
from confgcn.models.registry import METHODS, method_class
from confgcn.runs.settings import hyperparameters, preset_names, resolve
from confgcn.sparse import SparseMatrix

VARIANTS = [(method, preset) for method in METHODS for preset in preset_names(method)]
DRAWING = {("confgcn", "propagated")}  # a training step draws its own nodes
TRAINED = [
    variant
    for variant in VARIANTS
    if variant[0] not in ("label_propagation", "mani_reg", "taco") and variant not in DRAWING
]
READING_ALL = {("confgcn", "paper"), ("confgcn", "consensus")}  # in the objective
COUNT = 60

every_variant = pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
every_trained_variant = pytest.mark.parametrize("variant", TRAINED, ids="-".join)
every_depth = pytest.mark.parametrize("depth", [1, 2, 3])
few_or_many_edges = pytest.mark.parametrize("edges", [40, 400], ids=["few edges", "many edges"])


def random_graph(edges: int, *, sparse: bool = True) -> Graph:
    """Random edges and features, in float64; five training nodes."""
    random = np.random.default_rng(edges)
    features = random_sparse(COUNT, 8, density=0.4, random_state=random, data_rvs=random.standard_normal, format="csr")
    labels = np.arange(COUNT) % 3
    pairs = random.integers(COUNT, size=(edges, 2))
    graph = Graph.build(pairs, features if sparse else features.toarray(), labels, train=[1, 7, 20, 21, 50])
    assert isinstance(graph.features, SparseMatrix) is sparse
    if isinstance(graph.features, SparseMatrix):
        return graph.with_features(graph.features.with_values(graph.features.values.double()))
    return graph.with_features(graph.features.double())


def random_method(variant: tuple[str, str], graph: Graph, depth: int, **changes: Any) -> AbstractMethod:
    changes |= {"num_layers": depth, "num_steps": depth, "num_passes": depth, "walks_per_node": 1}
    changes |= {"dropout": 0.0, "node_dropout": 0.0}
    make = method_class(*variant)
    known = hyperparameters(make).model_fields
    settings = resolve(*variant, graph.name, {name: changes[name] for name in changes.keys() & known}).model
    method = make(Shape.of(graph), **settings).double()
    method.setup(graph)
    for parameter in method.parameters():
        torch.nn.init.normal_(parameter, 0.2, 0.4)
    return method


def objective_and_gradients(method: AbstractMethod, graph: Graph, nodes: Tensor | None) -> list[Tensor]:
    torch.manual_seed(0)  # for methods that draw pairs
    terms = method.loss_terms(graph, method(graph, nodes))
    values = [term.value() for term in terms.values()]
    gradients = torch.autograd.grad(sum(values), list(method.parameters()), allow_unused=True)
    return values + [torch.zeros(()) if gradient is None else gradient for gradient in gradients]


@pytest.mark.parametrize(
    ("node", "depth", "sources", "edges"),
    [
        (5, 3, [5], [(5, 5)]),
        (4, 1, [0, 4], [(0, 4), (4, 4)]),
        (4, 2, [0, 1, 4], [(0, 0), (1, 0), (4, 0), (0, 4), (4, 4)]),
    ],
)
def test_field_of_one_node(
    six_nodes: Graph, node: int, depth: int, sources: list[int], edges: list[tuple[int, int]]
) -> None:
    field = six_nodes.receptive_field(torch.tensor([node]), depth=depth)
    pairs = torch.stack([six_nodes.adjacency.indices, six_nodes.adjacency.rows], dim=1)
    assert [tuple(pair) for pair in field.pick(pairs).tolist()] == edges
    assert torch.equal(field.features, six_nodes.features[sources])
    assert field.hops[0].structure.shape[1] == len(sources)
    assert field.hops[-1].structure.shape[0] == 1
    assert field.hops[-1].pick(field.pick(pairs)).tolist() == [list(edge) for edge in edges if edge[1] == node]


def test_field_of_all_nodes_is_the_graph_itself(six_nodes: Graph) -> None:
    field = six_nodes.receptive_field(None, depth=2)
    assert field.features is six_nodes.features
    assert field.edges is None
    assert all(hop.structure is six_nodes.adjacency and hop.edges is None for hop in field.hops)


def test_where_nearly_all_are_read_all_are(six_nodes: Graph) -> None:
    field = six_nodes.receptive_field(torch.tensor([1, 4, 5]), depth=2)  # whose neighbours are all six
    assert field.features is six_nodes.features
    assert field.edges is None
    assert field.hops[0].structure is six_nodes.adjacency
    assert field.hops[1].structure.shape == (3, 6)


def test_fields_of_the_parts_of_the_split_are_found_once(six_nodes: Graph) -> None:
    first = six_nodes.receptive_field(six_nodes.test, depth=1)
    assert six_nodes.receptive_field(six_nodes.test, depth=1) is first
    assert len(six_nodes.receptive_field(six_nodes.test, depth=2).hops) == 2
    assert len(six_nodes.receptive_field(six_nodes.validation, depth=1).nodes) == 1
    other = six_nodes.with_features(2 * six_nodes.features)
    assert torch.equal(other.receptive_field(six_nodes.test, depth=1).features, 2 * first.features)


@few_or_many_edges
@every_depth
def test_the_field_is_a_part_unless_nearly_all_nodes_are_in_it(edges: int, depth: int) -> None:
    graph = random_graph(edges)
    read = graph.receptive_field(graph.train, depth=depth).features.shape[0]
    assert (read < 0.75 * COUNT) if edges == 40 else (read == COUNT or depth == 1)


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@few_or_many_edges
@every_depth
@every_variant
def test_some_nodes_are_predicted_as_they_are_among_all(
    variant: tuple[str, str], depth: int, edges: int, sparse: bool, each_kernels: str
) -> None:
    graph = random_graph(edges, sparse=sparse)
    method = random_method(variant, graph, depth).eval()
    everything = method(graph).logits
    for nodes in (graph.train, torch.tensor([33, 2, 59]), torch.tensor([0]), torch.arange(COUNT)):
        prediction = method(graph, nodes)
        torch.testing.assert_close(prediction.logits_of(nodes), everything[nodes], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
@every_variant
def test_no_nodes_have_no_logits(variant: tuple[str, str], sparse: bool, each_kernels: str) -> None:
    graph = random_graph(40, sparse=sparse)
    method = random_method(variant, graph, 2).eval()
    assert method(graph, graph.test).logits_of(graph.test).shape == (0, 3)


@few_or_many_edges
@every_depth
@every_trained_variant
def test_losses_and_gradients_are_those_of_all_nodes(
    variant: tuple[str, str], depth: int, edges: int, each_kernels: str
) -> None:
    graph = random_graph(edges)
    method = random_method(variant, graph, depth)
    assert method.nodes_in_loss(graph) is (None if variant in READING_ALL else graph.train)
    ours = objective_and_gradients(method, graph, method.nodes_in_loss(graph))
    torch.testing.assert_close(ours, objective_and_gradients(method, graph, None), rtol=1e-12, atol=1e-12)


def test_a_prediction_of_some_nodes_does_not_answer_for_others(six_nodes: Graph) -> None:
    prediction = GCN(Shape.of(six_nodes))(six_nodes, six_nodes.train)
    with pytest.raises(ValueError, match="other nodes"):
        prediction.logits_of(six_nodes.validation)


def test_a_prediction_of_all_nodes_answers_for_any(six_nodes: Graph) -> None:
    logits = torch.randn(6, 3)
    assert torch.equal(Prediction(logits).logits_of(six_nodes.test), logits[six_nodes.test])


def test_every_node_is_in_the_loss_only_where_the_objective_reads_it(six_nodes: Graph) -> None:
    shape = Shape.of(six_nodes)
    assert PaperConfGCN(shape).nodes_in_loss(six_nodes) is None
    assert ReleasedConfGCN(shape, const_over="all").nodes_in_loss(six_nodes) is None
    assert ReleasedConfGCN(shape).nodes_in_loss(six_nodes) is six_nodes.train
    assert GCN(shape).nodes_in_loss(six_nodes) is six_nodes.train


@every_trained_variant
def test_what_is_kept_from_inference_mode_serves_training(variant: tuple[str, str], each_kernels: str) -> None:
    graph = random_graph(40)
    method = random_method(variant, graph, 2)
    with torch.inference_mode():
        method(graph)
        method(graph, graph.train)
        method.loss_terms(graph, method(graph, graph.train if variant[1] != "paper" else None))
    assert all(torch.isfinite(value).all() for value in objective_and_gradients(method, graph, None))


def test_nodes_named_twice_are_refused() -> None:
    graph = random_graph(40)
    with pytest.raises(ValueError, match="must be distinct"):
        random_method(("gcn", "reference"), graph, 1)(graph, torch.tensor([3, 3, 5]))


def test_a_copied_graph_does_not_answer_for_nodes_of_the_first() -> None:
    graph = random_graph(40)
    method = random_method(("gcn", "reference"), graph, 2)
    method(graph, graph.train)
    copied = copy.deepcopy(graph)
    asked = [torch.tensor([3, 4]) for _ in range(50)]
    everything = method(copied).logits
    for nodes in asked:
        torch.testing.assert_close(method(copied, nodes).logits, everything[nodes], rtol=1e-12, atol=1e-12)
    assert set(copied._receptive_fields) == {("train", 2)}


def test_logits_are_those_of_nodes_equal_to_the_ones_asked_for() -> None:
    prediction = Prediction(torch.ones(2, 3), nodes=torch.tensor([4, 7]))
    assert prediction.logits_of(torch.tensor([4, 7])) is prediction.logits


@pytest.mark.parametrize("edges", [40, 400])
def test_targets_are_found_among_the_sources(edges: int) -> None:
    graph = random_graph(edges)
    field = graph.receptive_field(graph.train, depth=3)
    nodes = torch.arange(COUNT, dtype=torch.double)[:, None]
    rows = nodes if field.hops[0].structure.shape[1] == COUNT else nodes[_sources(graph, depth=3)]
    for hop in field.hops:
        rows = hop.targets(rows)
        assert len(rows) == hop.structure.shape[0]
    assert rows.squeeze(1).tolist() == graph.train.tolist()


def _sources(graph: Graph, depth: int) -> Tensor:
    """The nodes within that many steps of the training nodes."""
    reached = graph.train
    for _ in range(depth):
        reached = graph.adjacency.at_rows(reached)[0].indices.unique()
    return reached


def test_a_field_of_depth_zero_is_the_features_of_the_nodes(six_nodes: Graph) -> None:
    field = six_nodes.receptive_field(six_nodes.test, depth=0)
    assert torch.equal(field.features, six_nodes.features[six_nodes.test])
    assert field.hops == ()
    assert len(field.edges) == 0
    assert six_nodes.receptive_field(None, depth=0).features is six_nodes.features
