"""The end of a training by several workers; tests/distributed/test_workers.py starts real ones."""

from __future__ import annotations

import torch

from confgcn.graph import Graph
from confgcn.runs.gathered_run import ShardResult, without_weights
from confgcn.runs.request import RunRequest
from confgcn.runs.settings import make_method
from confgcn.training.loop import TrainingLoop


def test_a_method_without_weights_takes_over_those_of_another(small_graph: Graph) -> None:
    settings = RunRequest(small_graph).settings()
    trained, empty = make_method(small_graph, settings), without_weights(small_graph, settings)
    assert {tensor.device.type for tensor in empty.state_dict().values()} == {"meta"}
    empty.load_state_dict(trained.state_dict(), assign=True)
    expected, found = trained.predict(small_graph), empty.predict(small_graph)
    assert torch.equal(found.logits, expected.logits)


def test_a_worker_keeps_its_method_and_history_but_no_features(small_graph: Graph) -> None:
    settings = RunRequest(small_graph, overrides={"epochs": 2}).settings()
    loop = TrainingLoop(make_method(small_graph, settings), small_graph, settings.recipe)
    loop.fit()
    result = ShardResult.of(loop)
    assert result.method is loop.method
    assert result.history == loop.history
    assert len(result.history) == 2
    assert result.graph.features.shape == (small_graph.num_nodes, 0)
