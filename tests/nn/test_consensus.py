"""The module for PyG is an adapter of the model, and PyG's Explainer can explain it."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.data.formats.objects.pyg import to_pyg
from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn import consensus
from confgcn.runs.settings import resolve
from confgcn.runs.train import trained_loop

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    from torch_geometric.data import Data
    from torch_geometric.explain import Explainer, GNNExplainer

    from confgcn.nn import ConsensusConfGCN


def module_for(graph: Graph, **settings: Any) -> ConsensusConfGCN:
    sizes = {"num_nodes": graph.num_nodes, "hidden_channels": 32, **settings}
    return ConsensusConfGCN(graph.num_features, out_channels=graph.num_classes, **sizes)


def twins(graph: Graph, num_layers: int, dtype: torch.dtype) -> tuple[consensus.ConsensusConfGCN, ConsensusConfGCN]:
    """The model and the module, with the same random parameters."""
    one = consensus.ConsensusConfGCN(Shape.of(graph), num_layers=num_layers, dropout=0.0, node_dropout=0.0)
    for parameter in one.parameters():
        torch.nn.init.normal_(parameter)
    other = module_for(graph, num_layers=num_layers, dropout=0.0, node_dropout=0.0)
    other.model.load_state_dict(one.state_dict())
    return one.to(dtype), other.to(dtype)


def numbers(terms: dict[str, Tensor]) -> dict[str, float]:
    return {name: float(term.detach()) for name, term in terms.items()}


def features_of(graph: Graph) -> Tensor:
    assert isinstance(graph.features, Tensor)
    return graph.features


@pytest.mark.usefixtures("each_kernels")
@pytest.mark.parametrize("num_layers", [1, 2])
@pytest.mark.parametrize("training", [False, True], ids=["evaluating", "training"])
def test_the_same_parameters_give_the_same_logits(small_graph: Graph, num_layers: int, training: bool) -> None:
    own, module = (model.train(training) for model in twins(small_graph, num_layers, torch.float32))
    expected = own(small_graph).logits
    found = module(features_of(small_graph), to_pyg(small_graph).edge_index)
    assert torch.allclose(found, expected, atol=1e-5)
    assert expected.std() > 0.1


@pytest.mark.usefixtures("each_kernels")
def test_the_objective_and_its_gradients_are_the_same(small_graph: Graph) -> None:
    graph = small_graph.with_features(features_of(small_graph).double())
    own, module = (model.train() for model in twins(graph, 1, torch.float64))
    data = to_pyg(graph)
    expected = {name: term.value() for name, term in own.loss_terms(graph, own(graph)).items()}
    logits = module(features_of(graph), data.edge_index)
    found = module.loss(logits, data.y, data.train_mask, data.edge_index)
    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-6)
    sum(expected.values()).backward()
    sum(found.values()).backward()
    for one, other in zip(own.parameters(), module.parameters(), strict=True):
        assert torch.allclose(one.grad, other.grad, rtol=1e-5, atol=1e-8)


def test_the_defaults_are_those_of_the_default_model(small_graph: Graph) -> None:
    module, default = module_for(small_graph), consensus.ConsensusConfGCN(Shape.of(small_graph))
    assert repr(module.model) == repr(default)
    options = ("steps", "dropout", "lambda_reg", "mu_temperature", "consensus_share", "weight_decay")
    assert [getattr(module.model, name) for name in options] == [getattr(default, name) for name in options]


@pytest.fixture(scope="module")
def learned() -> tuple[Graph, Data, ConsensusConfGCN]:
    """Trained for a hundred epochs by an optimiser of torch."""
    torch.manual_seed(0)
    graph = block_model(400, seed=3)
    data = to_pyg(graph)
    module = module_for(graph)
    optimiser = torch.optim.Adam(module.parameter_groups(), lr=0.01)
    module.train()
    for _ in range(100):
        optimiser.zero_grad()
        terms = module.loss(module(data.x, data.edge_index), data.y, data.train_mask, data.edge_index)
        sum(terms.values()).backward()
        optimiser.step()
    return graph, data, module.eval()


def test_it_learns_as_well_as_the_library(learned: tuple[Graph, Data, ConsensusConfGCN]) -> None:
    graph, data, module = learned
    raw = {"epochs": 100, "stop": "never", "select": "last", "feature_scaling": "none"}
    own = trained_loop(graph, resolve("confgcn", "consensus", "demo", raw), seed=0).predict().logits
    with torch.no_grad():
        logits = module(data.x, data.edge_index)
    accuracies = [float((found.argmax(1) == data.y)[data.test_mask].float().mean()) for found in (own, logits)]
    assert accuracies[1] == pytest.approx(accuracies[0], abs=0.05)
    assert accuracies[1] > 0.8


def test_scores_and_confidences_are_those_of_the_nodes(learned: tuple[Graph, Data, ConsensusConfGCN]) -> None:
    _, data, module = learned
    assert torch.allclose(module.mu.sum(1), torch.ones(400))
    assert (module.mu.argmax(1) == data.y)[data.train_mask].float().mean() > 0.9
    assert 0 < module.precision.min() < module.precision.max() < 1
    nodes = torch.tensor([7, 3])
    best = [float(module.precision[node, module.mu[node].argmax()]) for node in (7, 3)]
    assert module.confidence(nodes).tolist() == pytest.approx(best)
    assert module.confidence()[7] == pytest.approx(best[0])


def path() -> tuple[Tensor, Tensor]:
    """1 - 0 - 2 - 3 - 4 - 5: node 1 is of one class, nodes 3 to 5 of the other; 0 and 2 have features of neither."""
    one_way = torch.tensor([[1, 0, 2, 3, 4], [0, 2, 3, 4, 5]])
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    return x, torch.cat([one_way, one_way.flip(0)], 1)


def knowing_module(y: Tensor) -> ConsensusConfGCN:
    """Its first feature is evidence of class 0, its second of class 1; the label scores are those of the classes."""
    module = ConsensusConfGCN(2, 2, 2, num_nodes=6, steps=2, consensus_share=0.0).eval()
    module.model.load_state_dict(
        module.model.state_dict()
        | {"label_distribution.raw_mu": 2.0 * torch.nn.functional.one_hot(y), "layers.0.weight": torch.eye(2)}
        | {"dense.weight": torch.tensor([[5.0, -5.0], [-5.0, 5.0]])}
    )
    return module


@pytest.mark.parametrize("seed", range(3))
def test_an_explainer_finds_the_neighbour_that_gave_the_label(seed: int) -> None:
    torch.manual_seed(seed)
    x, edge_index = path()
    module = knowing_module(torch.tensor([0, 0, 1, 1, 1, 1]))
    assert module(x, edge_index).argmax(1).tolist() == [0, 0, 1, 1, 1, 1]
    explainer = Explainer(
        module,
        GNNExplainer(epochs=50, lr=0.05),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"},
    )
    explanation = explainer(x, edge_index, index=0)
    from_neighbour = (edge_index[0] == 1) & (edge_index[1] == 0)
    assert explanation.edge_mask[from_neighbour] > explanation.edge_mask.mean() + 0.05
    assert explanation.node_mask.shape == x.shape
    assert explanation.node_mask[1].sum() > 0


def test_a_masked_edge_carries_no_message() -> None:
    x, edge_index = torch.rand(6, 2, requires_grad=True), path()[1]
    module = ConsensusConfGCN(2, 16, 2, num_nodes=6, steps=1).eval()
    (gradient,) = torch.autograd.grad(module(x, edge_index)[0, 0], x)
    assert (gradient.abs().sum(1) > 0).tolist() == [True, True, True, False, False, False]
    propagation = module.propagation
    propagation.explain, propagation._apply_sigmoid = True, False
    propagation._edge_mask = (edge_index[0] != 1).float()
    (gradient,) = torch.autograd.grad(module(x, edge_index)[0, 0], x)
    assert (gradient.abs().sum(1) > 0).tolist() == [True, False, True, False, False, False]


def test_copies_of_edges_and_self_loops_change_nothing(small_graph: Graph) -> None:
    _, module = twins(small_graph, 1, torch.float32)
    edge_index = to_pyg(small_graph).edge_index
    messy = torch.cat([edge_index.flip(1), edge_index[:, ::3], edge_index[:, :5], torch.tensor([[4, 9], [4, 9]])], 1)
    x = features_of(small_graph)
    assert torch.allclose(module(x, messy), module(x, edge_index), atol=1e-5)


def test_node_ids_say_whose_scores_belong_to_the_rows(small_graph: Graph) -> None:
    _, module = twins(small_graph, 1, torch.float32)
    data, x = to_pyg(small_graph), features_of(small_graph)
    order = torch.randperm(small_graph.num_nodes)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    module.eval()
    moved = module(x[order], place[data.edge_index], node_ids=order)
    assert torch.allclose(moved, module(x, data.edge_index)[order], atol=1e-5)
    terms = [
        module.loss(moved, data.y[order], data.train_mask[order], place[data.edge_index], order),
        module.loss(moved[place], data.y, data.train_mask, data.edge_index),
    ]
    assert numbers(terms[0]) == pytest.approx(numbers(terms[1]), rel=1e-4)


def test_only_the_labels_of_training_nodes_are_read(small_graph: Graph) -> None:
    data, module = to_pyg(small_graph), module_for(small_graph)
    logits = module(data.x, data.edge_index)
    hidden = data.y.masked_fill(~data.train_mask, -1)
    one, other = (module.loss(logits, y, data.train_mask, data.edge_index) for y in (data.y, hidden))
    assert one == other


def test_dropout_acts_in_training_only(small_graph: Graph) -> None:
    data, module = to_pyg(small_graph), module_for(small_graph)
    assert not torch.equal(module(data.x, data.edge_index), module(data.x, data.edge_index))
    module.eval()
    assert torch.equal(module(data.x, data.edge_index), module(data.x, data.edge_index))
    for rates in ({"dropout": 0.0}, {"node_dropout": 0.0}):
        one = module_for(small_graph, **rates)
        assert not torch.equal(one(data.x, data.edge_index), one(data.x, data.edge_index))


def test_reset_parameters_begins_again(learned: tuple[Graph, Data, ConsensusConfGCN]) -> None:
    graph, _, trained = learned
    new, other = module_for(graph), module_for(graph)
    other.load_state_dict(trained.state_dict())
    for module in (new, other):
        torch.manual_seed(5)
        module.reset_parameters()
    for one, two, before in zip(new.parameters(), other.parameters(), trained.parameters(), strict=True):
        assert torch.equal(one, two)
        assert not torch.equal(two, before)


def test_repr(small_graph: Graph) -> None:
    module = module_for(small_graph, num_layers=2)
    assert repr(module) == "ConsensusConfGCN(32 -> 32 -> 32 -> 4, num_nodes=120, steps=4)"


def test_without_pyg_the_import_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch_geometric'] = None; import confgcn.nn"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1200)
    assert "ResourceError: confgcn.nn needs torch_geometric: pip install 'confgcn[pyg]'" in result.stderr
