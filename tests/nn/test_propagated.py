"""The module for PyG of the propagated model: an adapter, whose edges an explainer can mask."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.data.formats.objects.pyg import to_pyg
from confgcn.data.synthetic import block_model
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.models.base import Shape
from confgcn.models.confgcn import propagated

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    from torch_geometric.explain import Explainer, GNNExplainer

    from confgcn.nn import ConfGCN

EDGES = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (1, 5), (6, 7)]
OPTIONS: list[dict[str, Any]] = [{"order": 3}, {"channels": "apart"}, {"channels": "own"}, {"unit_length": False}]


@pytest.fixture
def graph() -> Graph:
    """Fewer nodes than a row has entries: rows are not truncated."""
    features = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    return Graph.build(EDGES, features, [0, 1, 2, 0, 1, 2, 0, 1], train=[0, 1, 2, 3], test=[4])


def module_for(graph: Graph, **options: Any) -> ConfGCN:
    torch.manual_seed(1)
    module = ConfGCN(graph.num_features, 16, graph.num_classes, **options)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    return module.eval()


def with_mask(module: ConfGCN, mask: Tensor) -> None:
    module.walk.explain, module.walk._apply_sigmoid, module.walk._edge_mask = True, False, mask


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_the_same_parameters_give_the_same_logits(graph: Graph, options: dict[str, Any]) -> None:
    module, data = module_for(graph, **options), to_pyg(graph)
    own = propagated.PropagatedConfGCN(Shape.of(graph), hidden_dim=16, **options).eval()
    own.load_state_dict(module.model.state_dict())
    torch.testing.assert_close(module(data.x, data.edge_index), own(graph).logits)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_messages_under_a_mask_of_ones_are_the_rows(graph: Graph, options: dict[str, Any]) -> None:
    module, data = module_for(graph, **options), to_pyg(graph)
    expected = module(data.x, data.edge_index)
    with_mask(module, torch.ones(data.edge_index.shape[1]))
    torch.testing.assert_close(module(data.x, data.edge_index), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("options", OPTIONS[:2], ids=str)
def test_a_masked_edge_carries_no_message(graph: Graph, options: dict[str, Any]) -> None:
    module, data = module_for(graph, **options), to_pyg(graph)
    x = data.x.clone().requires_grad_()
    (before,) = torch.autograd.grad(module(x, data.edge_index)[0].sum(), x)
    assert before[1].abs().sum() > 0
    mask = (data.edge_index[0] != 1).float().requires_grad_()
    with_mask(module, mask)
    logits = module(x, data.edge_index)[0, 0]
    of_mask, of_x = torch.autograd.grad(logits, [mask, x])
    assert of_x[1].abs().sum() == 0
    assert of_mask.abs().sum() > 0


def test_rows_are_kept_while_the_same_edges_are_passed(graph: Graph) -> None:
    module, data = module_for(graph), to_pyg(graph)
    module(data.x, data.edge_index)
    adjacency = module._edges(data.edge_index, None, 8)[0]
    assert module._edges(data.edge_index, None, 8)[0] is adjacency
    assert module._edges(data.edge_index.clone(), None, 8)[0] is not adjacency
    data.edge_index[:, 0] = data.edge_index[:, 1]
    assert module._edges(data.edge_index, None, 8)[0] is not adjacency


def test_copies_of_edges_and_self_loops_change_nothing(graph: Graph) -> None:
    module, data = module_for(graph), to_pyg(graph)
    edges = data.edge_index
    messy = torch.cat([edges.flip(1), edges[:, ::3], torch.tensor([[4, 2], [4, 2]])], 1)
    torch.testing.assert_close(module(data.x, messy), module(data.x, edges))


def test_edge_weights_scale_the_walk(graph: Graph) -> None:
    module, data = module_for(graph), to_pyg(graph)
    count = data.edge_index.shape[1]
    plain = module(data.x, data.edge_index)
    torch.testing.assert_close(module(data.x, data.edge_index, torch.ones(count)), plain)
    without = module(data.x, data.edge_index, (data.edge_index != 5).all(0).float())
    assert not torch.allclose(without[1], plain[1], atol=1e-3)
    with pytest.raises(DataError, match="edge_weight: expected floats of shape"):
        module(data.x, data.edge_index, torch.ones(3))


def test_it_learns_in_a_loop_of_ones_own_and_is_explained() -> None:
    torch.manual_seed(0)
    data = to_pyg(block_model(200, seed=3))
    module = ConfGCN(data.num_features, 16, len(data.class_names), weight_decay=1e-3)
    optimiser = torch.optim.Adam(module.parameter_groups(), lr=0.01)
    for step in range(60):
        optimiser.zero_grad()
        logits = module.views(data.x, data.edge_index) if step % 2 else module(data.x, data.edge_index)
        sum(module.loss(logits, data.y, data.train_mask).values()).backward()
        optimiser.step()
    module.eval()
    found = module(data.x, data.edge_index).argmax(1)
    assert (found == data.y)[data.test_mask].float().mean() > 0.8
    config = {"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"}
    explainer = Explainer(
        module,
        GNNExplainer(epochs=20),
        explanation_type="model",
        node_mask_type="attributes",
        edge_mask_type="object",
        model_config=config,
    )
    explanation = explainer(data.x, data.edge_index, index=0)
    assert explanation.edge_mask[data.edge_index[1] == 0].max() > 0
    assert not module.walk.explain


def test_training_draws_random_views_and_only_training_labels_are_read(graph: Graph) -> None:
    module, data = module_for(graph).train(), to_pyg(graph)
    one, other = (module(data.x, data.edge_index) for _ in range(2))
    assert not torch.equal(one, other)
    hidden = data.y.masked_fill(~data.train_mask, -1)
    terms = [module.loss(one, y, data.train_mask) for y in (data.y, hidden)]
    assert terms[0] == terms[1]
    assert terms[0].keys() == {"cross", "const"}


@pytest.mark.parametrize("number", [1, 3])
def test_views_are_as_many_as_asked_for_and_of_the_size_that_was_set(
    graph: Graph, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, data, sizes = module_for(graph, view_size=5).train(), to_pyg(graph), []
    view = PropagationRows.view

    def recorded(rows: PropagationRows, size: int) -> PropagationRows:
        sizes.append(size)
        return view(rows, size)

    monkeypatch.setattr(PropagationRows, "view", recorded)
    assert module.views(data.x, data.edge_index, number=number).shape == (number, 8, 3)
    assert sizes == [5] * number


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_training_with_whole_rows_and_without_dropout_predicts_as_afterwards(
    graph: Graph, options: dict[str, Any]
) -> None:
    module, data = module_for(graph, num_layers=1, view_size=0, dropout=0.0, **options), to_pyg(graph)
    expected = module(data.x, data.edge_index)
    torch.testing.assert_close(module.train()(data.x, data.edge_index), expected)


@pytest.mark.parametrize("size", [-1, propagated.MAX_VIEW_SIZE + 1])
def test_a_size_of_views_out_of_range_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match="view_size"):
        ConfGCN(2, 4, 2, view_size=size)


def test_what_needs_labels_is_refused() -> None:
    for options in ({"label_channel": True}, {"channels": "labels"}, {"influence": "learned"}):
        with pytest.raises(UsageError, match="need labels"):
            ConfGCN(2, 4, 2, **options)
    with pytest.raises(UsageError, match="unknown option 'num_nodes'"):
        ConfGCN(2, 4, 2, num_nodes=6)


def test_confidences_repr_and_new_weights(graph: Graph) -> None:
    module, data = module_for(graph), to_pyg(graph)
    prediction = module.confidences(data.x, data.edge_index)
    assert prediction.mu is not None
    torch.testing.assert_close(prediction.mu.sum(1), torch.ones(8))
    assert repr(module) == "ConfGCN(4 -> 16 -> 3, channels='summed')"
    before = [parameter.clone() for parameter in module.parameters()]
    module.reset_parameters()
    assert not all(map(torch.equal, before, module.parameters()))
