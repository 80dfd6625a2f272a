"""Checkpoints: kept by epoch, the newest whole one is found, a stop request saves first."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import torch

from confgcn.baselines.label_propagation import LabelPropagation
from confgcn.exceptions import CorruptFileError, StoppedError
from confgcn.graph import Graph
from confgcn.method import Shape
from confgcn.model.network import ConfGCN
from confgcn.training.checkpoint import Checkpointer, resume_from
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe
from confgcn.training.signals import StopRequest, stop_request


def loop_of(graph: Graph, *callbacks: Checkpointer) -> TrainingLoop:
    return TrainingLoop(ConfGCN(Shape.of(graph)), graph, Recipe(epochs=5), callbacks)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_last_two_are_kept(tmp_path: Path, six_nodes: Graph) -> None:
    loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=0.0)).fit()
    assert [name for name in names(tmp_path) if name.endswith(".json")] == ["epoch-0000004.json", "epoch-0000005.json"]
    assert len(names(tmp_path)) == 4


def test_nothing_is_saved_before_its_time(tmp_path: Path, six_nodes: Graph) -> None:
    loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=1e6)).fit()
    assert names(tmp_path) == []


def test_a_damaged_newest_falls_back_to_the_one_before_with_a_notice(tmp_path: Path, six_nodes: Graph) -> None:
    loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=0.0)).fit()
    newest = tmp_path / "epoch-0000005.safetensors"
    newest.write_bytes(newest.read_bytes()[:-1])
    loop = loop_of(six_nodes)
    (notice,) = resume_from(tmp_path, loop)
    assert "epoch-0000005.safetensors" in notice
    assert len(loop.history) == 4


@pytest.mark.parametrize("part", ["optimiser/0/mean", "random", "best/layers.0.weight"])
def test_a_state_that_lacks_a_part_is_refused_before_anything_is_changed(
    tmp_path: Path, six_nodes: Graph, part: str
) -> None:
    finished = loop_of(six_nodes)
    finished.fit()
    tensors, record = finished.state()
    del tensors[part]
    loop = loop_of(six_nodes)
    before = {name: value.clone() for name, value in loop.method.state_dict().items()}
    with pytest.raises(CorruptFileError, match=part):
        loop.load_state(tensors, record)
    assert loop.history == []
    assert all(torch.equal(value, before[name]) for name, value in loop.method.state_dict().items())


def test_when_no_checkpoint_is_whole_the_run_does_not_silently_start_again(tmp_path: Path, six_nodes: Graph) -> None:
    loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=0.0)).fit()
    for path in tmp_path.glob("*.safetensors"):
        path.write_bytes(b"")
    with pytest.raises(CorruptFileError, match="no checkpoint is whole"):
        resume_from(tmp_path, loop_of(six_nodes))


def test_a_stop_request_saves_and_stops(tmp_path: Path, six_nodes: Graph) -> None:
    request = StopRequest()
    stopped = loop_of(six_nodes, Checkpointer(tmp_path, request))
    stopped.run_epoch()
    request.received = signal.SIGTERM
    with pytest.raises(StoppedError, match="SIGTERM after epoch 1") as raised:
        stopped.fit()
    assert raised.value.exit_code == 143
    loop = loop_of(six_nodes)
    assert resume_from(tmp_path, loop) == []
    assert len(loop.history) == 1


def test_a_request_during_the_setup_stops_a_method_without_epochs_too(tmp_path: Path, six_nodes: Graph) -> None:
    checkpointer = Checkpointer(tmp_path, StopRequest(received=signal.SIGINT))
    loop = TrainingLoop(LabelPropagation(Shape.of(six_nodes)), six_nodes, Recipe(), [checkpointer])
    with pytest.raises(StoppedError, match="SIGINT after epoch 0"):
        loop.fit()
    resumed = TrainingLoop(LabelPropagation(Shape.of(six_nodes)), six_nodes, Recipe())
    assert resume_from(tmp_path, resumed) == []
    resumed.fit()
    assert torch.equal(resumed.predict().logits, loop.predict().logits)


def test_signals_are_caught_inside_and_given_back_after() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(StoppedError, match="at once by SIGTERM") as raised, stop_request() as request:
        signal.raise_signal(signal.SIGINT)
        assert request.received == signal.SIGINT
        signal.raise_signal(signal.SIGTERM)
    assert raised.value.exit_code == 143
    assert signal.getsignal(signal.SIGINT) is before
