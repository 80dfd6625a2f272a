"""A training step leaves no tensor behind on the CPU: it runs on torch's meta device, which has shapes and no data."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.registry import METHODS, method_class
from confgcn.runs.settings import preset_names, resolve
from confgcn.training.adam import Adam
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe

VARIANTS = [(method, preset) for method in METHODS for preset in preset_names(method)]
QUICK = {"deepwalk": {"walks_per_node": 1, "walk_length": 4}}

# The shapes of these steps depend on data, which the meta device does not have.
DATA_DEPENDENT = {
    "deepwalk": "the prior is mixed in at the nodes that a label reaches, whose number is data",
    "gpnn": "a step across updates the nodes with a cut edge, whose number is data",
    "planetoid": "a counter of steps decides which pairs are drawn, and the number of distinct nodes in them is data",
    "confgcn-propagated": "a step draws nodes and leaves out those with a training label, whose number is data",
}


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
def test_a_training_step_runs_on_the_meta_device(variant: tuple[str, str], small_graph: Graph) -> None:
    name, preset = variant
    reason = DATA_DEPENDENT.get(name) or DATA_DEPENDENT.get(f"{name}-{preset}")
    if reason:
        pytest.skip(reason)
    graph = small_graph.training_view()
    method = method_class(name, preset)(Shape.of(graph), **resolve(name, preset, graph.name, QUICK.get(name, {})).model)
    method.setup(graph)
    method, moved = method.to("meta").train(), graph.to("meta")
    prediction = method(moved, method.nodes_in_loss(moved))
    terms = method.loss_terms(moved, prediction)
    loss = torch.stack([term.value() for term in terms.values()]).sum()
    assert loss.device.type == "meta"
    if not list(method.parameters()):
        return  # solved in setup: nothing is trained
    loss.backward()
    groups = method.parameter_groups()
    if any(callable(group.get("weight_decay")) for group in groups):  # depends on the number that a norm is
        groups = [{**group, "weight_decay": 0.0} for group in groups]
    optimiser = Adam(groups, learning_rate=0.01)
    optimiser.step()
    assert all(weight.device.type == "meta" for weight, *_ in optimiser.moments)


def test_a_graph_on_another_device_keeps_everything(small_graph: Graph) -> None:
    moved = small_graph.to("meta")
    assert moved.device.type == "meta"
    assert small_graph.to("cpu") is small_graph
    assert moved.node_rows == small_graph.node_rows
    for split in ("train", "validation", "test"):
        field = moved.receptive_field(getattr(moved, split), depth=2)
        expected = small_graph.receptive_field(getattr(small_graph, split), depth=2)
        assert field.features.shape == expected.features.shape
        assert [hop.structure.shape for hop in field.hops] == [hop.structure.shape for hop in expected.hops]
        assert field.features.device.type == "meta"


@pytest.mark.parametrize("name", ["confgcn", "gcn", "gat", "semi_emb"])
def test_a_graph_is_freed_with_its_last_reference(name: str, each_kernels: str) -> None:
    """No cache keeps it alive, and no cycle of references waits for the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        graph = block_model(120, seed=1)
        method = method_class(name)(Shape.of(graph), **resolve(name, "default", "", {}).model)
        torch.stack([term.value() for term in method.loss_terms(graph, method(graph)).values()]).sum().backward()
        kept = weakref.ref(graph), weakref.ref(graph.adjacency)
        del graph
        assert [reference() for reference in kept] == [None, None]
    finally:
        gc.enable()


def test_a_loop_sets_up_on_the_cpu_and_trains_on_its_device(small_graph: Graph) -> None:
    method = method_class("gcn")(Shape.of(small_graph))
    loop = TrainingLoop(method, small_graph, Recipe(epochs=1, batch_size=None), device="meta")
    assert loop.visible.device.type == "meta"
    assert {weight.device.type for weight in method.parameters()} == {"meta"}
    assert [batch.device.type for batch in loop.batches] == ["meta"]
    assert loop.validation_labels.device.type == "meta"


def test_samples_are_drawn_on_the_cpu_and_moved(small_graph: Graph) -> None:
    method = method_class("confgcn", "consensus")(Shape.of(small_graph))
    loop = TrainingLoop(method, small_graph, Recipe(epochs=1, batch_size=40), device="meta")
    batches = list(loop.batches)
    assert len(batches) == 3
    assert all(
        batch.device.type == batch.labelled.device.type == batch.edge_weight.device.type == "meta" for batch in batches
    )


def test_a_graph_moved_back_is_the_graph_itself(small_graph: Graph) -> None:
    assert small_graph.to("meta").to("cpu") is small_graph
