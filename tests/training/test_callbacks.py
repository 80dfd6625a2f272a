"""When the methods of a callback are called, and what they see of the loop."""

from __future__ import annotations

import pytest

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.gcn import GCN
from confgcn.models.baselines.label_propagation import LabelPropagation
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe

Events = list[tuple[str, int]]


class Recorder(Callback):
    """Writes down every call and the number of epochs by then."""

    def __init__(self, events: Events, name: str = "") -> None:
        self.events, self.name = events, name

    def on_setup(self, loop: TrainingLoop) -> None:
        self.events.append((f"{self.name}setup", len(loop.history)))

    def on_start(self, loop: TrainingLoop) -> None:
        self.events.append((f"{self.name}start", len(loop.history)))

    def on_epoch(self, loop: TrainingLoop) -> None:
        assert loop.history[-1]["epoch"] == len(loop.history)
        self.events.append((f"{self.name}epoch", len(loop.history)))

    def on_end(self, loop: TrainingLoop) -> None:
        self.events.append((f"{self.name}end", len(loop.history)))


@pytest.fixture
def events() -> Events:
    return []


def test_methods_are_called_in_the_order_of_training(six_nodes: Graph, events: Events) -> None:
    loop = TrainingLoop(GCN(Shape.of(six_nodes)), six_nodes, Recipe(epochs=2), [Recorder(events)])
    assert events == [("setup", 0)]
    loop.fit()
    assert events == [("setup", 0), ("start", 0), ("epoch", 1), ("epoch", 2), ("end", 2)]


def test_a_method_without_parameters_has_no_epochs(six_nodes: Graph, events: Events) -> None:
    TrainingLoop(LabelPropagation(Shape.of(six_nodes)), six_nodes, Recipe(), [Recorder(events)]).fit()
    assert events == [("setup", 0), ("start", 0), ("end", 0)]


def test_several_callbacks_are_called_in_their_order(six_nodes: Graph, events: Events) -> None:
    both = [Recorder(events, "first "), Recorder(events, "second ")]
    TrainingLoop(GCN(Shape.of(six_nodes)), six_nodes, Recipe(epochs=1), both).fit()
    assert [name for name, _ in events[-2:]] == ["first end", "second end"]


def test_the_base_class_does_nothing(six_nodes: Graph) -> None:
    loops = [
        TrainingLoop(GCN(Shape.of(six_nodes)), six_nodes, Recipe(epochs=2, select="last"), callbacks)
        for callbacks in ([], [Callback()])
    ]
    for loop in loops:
        loop.fit()
    assert [len(loop.history) for loop in loops] == [2, 2]
