"""What the preset ``consensus`` is for, once it is trained: unsure where no label speaks, wary of who is unsure."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import Prediction, Shape
from confgcn.models.confgcn.influence import SELF_SHARE
from confgcn.models.confgcn.network import ConfGCN
from confgcn.runs.settings import resolve
from confgcn.runs.train import trained_loop

RING, ALONE = range(120, 132), range(132, 136)  # nodes beside those of a block model
Trained = tuple[Graph, ConfGCN, Prediction]


@pytest.fixture(scope="module")
def trained() -> Trained:
    """A block model, and beside it a ring without a label and nodes without a neighbour, with features like its own."""
    block = block_model(120, seed=1)
    ring = [(node, node + 1) for node in RING[:-1]] + [(RING[-1], RING[0])]
    edges = torch.stack([block.neighbours.indices, block.neighbours.rows], 1).numpy()
    like = [*range(120), *range(len(RING) + len(ALONE))]
    features, labels = block.features[like].numpy(), block.labels[like].numpy()
    parts = {part: getattr(block, part).numpy() for part in ("train", "validation", "test")}
    graph = Graph.build(np.concatenate([edges, ring]), features, labels, **parts)
    settings = resolve("confgcn", "consensus", "demo", {"epochs": 100, "stop": "never", "select": "last"})
    loop = trained_loop(graph, settings, seed=0)
    assert isinstance(loop.method, ConfGCN)
    return settings.data.prepare(graph, seed=0), loop.method, loop.predict()


def test_it_learns(trained: Trained) -> None:
    graph, _, prediction = trained
    right = (prediction.logits.argmax(1) == graph.labels)[graph.test]
    mu_right = (prediction.mu.argmax(1) == graph.labels)[graph.test]
    assert right.float().mean() > 0.8
    assert mu_right.float().mean() > 0.7


def test_evidence_is_where_labels_are(trained: Trained) -> None:
    graph, _, prediction = trained
    assert prediction.evidence[[*RING, *ALONE]].tolist() == [0.0] * 16
    heard = prediction.evidence[:120][graph.degrees[:120] > 0]
    assert heard.mean() > 0.1
    assert prediction.evidence.max() <= 1 + 1e-6
    labelled = torch.zeros(120, dtype=torch.bool).index_fill(0, graph.train, True)
    assert prediction.evidence[:120][labelled].min() > 0.2  # a label is heard by its own node, at least


@pytest.mark.parametrize("nodes", [RING, ALONE], ids=["component without a label", "isolated"])
def test_where_no_label_speaks_precision_is_lower(trained: Trained, nodes: range) -> None:
    graph, _, prediction = trained
    spoken_for = prediction.precision[:120][prediction.evidence[:120] > 0].mean()
    silent = prediction.precision[list(nodes)]
    assert silent.mean() < spoken_for - 0.05
    assert silent.max() < prediction.precision[graph.train].mean()


def scores(trained: Trained, prediction: Prediction) -> Tensor:
    """s of every edge, from its influence; of no meaning for loops."""
    graph, _, _ = trained
    return prediction.influence * graph.degrees[graph.adjacency.rows] / (1 - SELF_SHARE)


def test_an_unsure_neighbour_has_less_influence_than_a_sure_one_of_the_same_opinion(trained: Trained) -> None:
    graph, _, prediction = trained
    source, target = graph.adjacency.indices, graph.adjacency.rows
    says = prediction.mu.argmax(1)
    agree = (says[source] == says[target]) & (source != target) & (source < 120)
    sharpness = prediction.mu.max(1).values[source][agree]
    influence = scores(trained, prediction)[agree]
    sure = sharpness >= sharpness.median()
    assert influence[sure].mean() > influence[~sure].mean() + 0.02


@pytest.mark.parametrize("made_unsure", ["precision", "mu"])
def test_a_neighbour_made_unsure_loses_influence_and_nobody_gains_it_but_the_node_itself(
    trained: Trained, made_unsure: str
) -> None:
    graph, method, before = trained
    source, target = graph.adjacency.indices, graph.adjacency.rows
    says = before.mu.argmax(1)
    node = int(graph.degrees[:120].argmax())
    neighbours = source[(target == node) & (source != node)]
    friend = int(neighbours[says[neighbours] == says[node]][0])
    state = {name: value.clone() for name, value in method.state_dict().items()}
    state[f"label_distribution.raw_{made_unsure}"][friend] = -4.0 if made_unsure == "precision" else 0.0
    unsure = ConfGCN(Shape.of(graph), **resolve("confgcn", "consensus", "demo", {}).model)
    unsure.load_state_dict(state)
    after = unsure.predict(graph.training_view())
    lost = (before.influence - after.influence)[target == node]
    of_friend = lost[source[target == node] == friend]
    of_itself = lost[source[target == node] == node]
    assert of_friend > 0.1 * before.influence[(target == node) & (source == friend)]
    assert float(of_friend + of_itself) == pytest.approx(0.0, abs=1e-6)
    assert int((lost.abs() > 1e-6).sum()) == 2


def test_without_influences_it_predicts_otherwise(trained: Trained) -> None:
    graph, method, prediction = trained
    uniform = method.with_uniform_influence().predict(graph.training_view())
    assert not torch.allclose(uniform.logits, prediction.logits, atol=1e-2)
    assert torch.equal(method.predict(graph.training_view()).logits, prediction.logits)
