"""Checkpoints: the last two are kept, the newest intact one is loaded, a signal saves before it stops."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from confgcn.exceptions import CorruptFileError, StoppedError
from confgcn.graph import Graph
from confgcn.io.json_files import write_checksummed_json
from confgcn.io.signals import StopRequest
from confgcn.io.tensor_files import write_tensors
from confgcn.models.base import Shape
from confgcn.models.baselines.label_propagation import LabelPropagation
from confgcn.models.confgcn.paper import PaperConfGCN
from confgcn.training.callbacks import Callback
from confgcn.training.checkpoint import Checkpointer, StopOnSignal, resume_from
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe
from confgcn.training.saved_state import NODES, restore, state_of


def loop_of(graph: Graph, *callbacks: Callback) -> TrainingLoop:
    return TrainingLoop(PaperConfGCN(Shape.of(graph)), graph, Recipe(epochs=5), callbacks)


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


@pytest.mark.parametrize("name", ["optimiser/0/mean", "random", "best/layers.0.weight"])
def test_a_state_that_lacks_a_tensor_is_refused_before_anything_is_changed(
    tmp_path: Path, six_nodes: Graph, name: str
) -> None:
    finished = loop_of(six_nodes)
    finished.fit()
    tensors, record = state_of(finished)
    del tensors[name]
    loop = loop_of(six_nodes)
    before = {name: value.clone() for name, value in loop.method.state_dict().items()}
    with pytest.raises(CorruptFileError, match=name):
        restore(loop, tensors, record)
    assert loop.history == []
    assert all(torch.equal(value, before[name]) for name, value in loop.method.state_dict().items())


def test_a_run_without_an_intact_checkpoint_does_not_silently_start_again(tmp_path: Path, six_nodes: Graph) -> None:
    loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=0.0)).fit()
    for path in tmp_path.glob("*.safetensors"):
        path.write_bytes(b"")
    with pytest.raises(CorruptFileError, match="no checkpoint is intact"):
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
    request = StopRequest()
    checkpointer = Checkpointer(tmp_path, request)
    loop = TrainingLoop(LabelPropagation(Shape.of(six_nodes)), six_nodes, Recipe(), [checkpointer])
    request.received = signal.SIGINT
    with pytest.raises(StoppedError, match="SIGINT after epoch 0"):
        loop.fit()
    resumed = TrainingLoop(LabelPropagation(Shape.of(six_nodes)), six_nodes, Recipe())
    assert resume_from(tmp_path, resumed) == []
    resumed.fit()
    assert torch.equal(resumed.predict().logits, loop.predict().logits)


def longer(state: tuple[dict[str, torch.Tensor], dict[str, Any]]) -> None:
    state[1]["history"].append({"epoch": 6, "loss": 1.0})


def halved(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"method/layers.0.weight": tensors["method/layers.0.weight"].half()}


def other_epoch(state: tuple[dict[str, torch.Tensor], dict[str, Any]]) -> int:
    return 1 if state[1]["best_epoch"] != 1 else 2


DAMAGES: dict[str, tuple[Callable[[Any], object], str]] = {
    "an epoch less": (lambda state: state[1]["history"].pop(0), "epoch 1 of the history"),
    "an epoch more, without validation": (longer, "results of a validation check"),
    "no history": (lambda state: state[1].update(history="x"), "not a list"),
    "another best epoch": (lambda state: state[1].update(best_epoch=9), "no best epoch that fits"),
    "a best epoch that is not the best": (
        lambda state: state[1].update(best_epoch=other_epoch(state)),
        "no best epoch",
    ),
    "a best epoch of another type": (lambda state: state[1].update(best_epoch=2.0), "no best epoch that fits"),
    "no best epoch": (lambda state: state[1].update(best_epoch=None), "no best epoch that fits"),
    "a list of tensors of another kind": (lambda state: state[1].update(tensors=[1]), "lacks 1"),
    "no random numbers": (lambda state: state[0]["random"].zero_(), "random state is invalid"),
    "another type": (lambda state: state[0].update(halved(state[0])), r"no method/layers\.0\.weight that fits"),
    "the best of another shape": (
        lambda state: state[0].update({"best/layers.0.weight": torch.zeros(1)}),
        r"no best/layers\.0\.weight that fits",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_state_of_another_form_is_refused_before_anything_is_changed(six_nodes: Graph, kind: str) -> None:
    finished = loop_of(six_nodes)
    finished.fit()
    tensors, record = state_of(finished)
    damage, problem = DAMAGES[kind]
    state = {name: value.clone() for name, value in tensors.items()}, {**record, "history": [*record["history"]]}
    damage(state)
    loop = loop_of(six_nodes)
    before, drawn = {name: value.clone() for name, value in loop.method.state_dict().items()}, torch.get_rng_state()
    with pytest.raises(CorruptFileError, match=problem):
        restore(loop, *state)
    assert (loop.history, loop.best) == ([], None)
    assert all(torch.equal(value, before[name]) for name, value in loop.method.state_dict().items())
    assert torch.equal(torch.get_rng_state(), drawn)


def test_a_skipped_damaged_checkpoint_replaces_no_intact_one(tmp_path: Path, six_nodes: Graph) -> None:
    loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=0.0)).fit()
    for suffix in (".json", ".safetensors"):
        shutil.copy(tmp_path / f"epoch-0000005{suffix}", tmp_path / f"epoch-0000009{suffix}")
    (tmp_path / "epoch-0000009.safetensors").write_bytes(b"damaged")
    loop = loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=0.0))
    resume_from(tmp_path, loop)
    loop.callbacks[0]._save(loop)
    assert [name for name in names(tmp_path) if name.endswith(".json")] == ["epoch-0000004.json", "epoch-0000005.json"]


def written_in_two(folder: Path, loop: TrainingLoop) -> Path:
    """A checkpoint of the loop, as two processes would write it; returns the file that says so."""
    tensors, record = state_of(loop)
    stem = folder / f"epoch-{len(loop.history):07d}"
    for rank, nodes in enumerate((torch.tensor([0, 2, 4]), torch.tensor([1, 3, 5]))):
        own = {name: value[nodes] if name in record["per_node"] else value for name, value in tensors.items()}
        write_tensors(stem.with_name(f"{stem.name}-worker-{rank}"), {**own, NODES: nodes}, record)
    write_checksummed_json(stem.with_suffix(".json"), {"written_by": 2})
    return stem.with_suffix(".json")


def test_one_process_continues_from_the_checkpoint_of_two_workers(tmp_path: Path, six_nodes: Graph) -> None:
    finished, loop = loop_of(six_nodes), loop_of(six_nodes)
    finished.fit()
    written_in_two(tmp_path, finished)
    assert resume_from(tmp_path, loop) == []
    assert loop.history == finished.history
    expected = state_of(finished)[0]
    assert all(torch.equal(value, expected[name]) for name, value in state_of(loop)[0].items())


@pytest.mark.parametrize("written_by", [0, -1, 3, 10**6, 10**30, "2", True, 2.0, None, [2]])
def test_a_checkpoint_with_an_invalid_number_of_workers_is_skipped(
    tmp_path: Path, six_nodes: Graph, written_by: object
) -> None:
    loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=0.0)).fit()
    finished = loop_of(six_nodes)
    finished.fit()
    write_checksummed_json(written_in_two(tmp_path, finished), {"written_by": written_by})
    loop = loop_of(six_nodes)
    (notice,) = resume_from(tmp_path, loop)
    assert "epoch-0000005" in notice
    assert written_by == 3 or "corrupt, written by" in notice  # of three, the last is not there
    assert len(loop.history) == 4


@pytest.mark.parametrize("name", ["worker-0.json", "worker-1.json", "worker-0.safetensors", "worker-1.safetensors"])
@pytest.mark.parametrize("how", ["missing", "empty"])
def test_a_checkpoint_with_a_missing_or_empty_file_is_skipped(
    tmp_path: Path, six_nodes: Graph, name: str, how: str
) -> None:
    loop_of(six_nodes, Checkpointer(tmp_path, StopRequest(), seconds_between=0.0)).fit()
    finished = loop_of(six_nodes)
    finished.fit()
    written_in_two(tmp_path, finished)
    file = tmp_path / f"epoch-0000005-{name}"
    file.unlink()
    if how == "empty":
        file.touch()
    loop = loop_of(six_nodes)
    (notice,) = resume_from(tmp_path, loop)
    assert file.name in notice
    assert len(loop.history) == 4


def test_a_state_that_holds_more_than_the_method_is_refused(six_nodes: Graph) -> None:
    finished, loop = loop_of(six_nodes), loop_of(six_nodes)
    finished.fit()
    tensors, record = state_of(finished)
    for name in ("method/other", "best/other", "optimiser/9/mean"):
        with pytest.raises(CorruptFileError, match=f"holds {name}"):
            restore(loop, {**tensors, name: torch.zeros(1)}, record)


def test_a_negative_number_of_steps_is_refused(six_nodes: Graph) -> None:
    finished = loop_of(six_nodes)
    finished.fit()
    tensors, record = state_of(finished)
    with pytest.raises(CorruptFileError, match="negative number of optimiser steps"):
        restore(loop_of(six_nodes), {**tensors, "optimiser/steps": torch.tensor(-1)}, record)


@pytest.mark.parametrize("kind", ["without checkpoints", "with checkpoints"])
def test_a_signal_stops_the_setup_at_once_and_epochs_after_their_end(
    tmp_path: Path, six_nodes: Graph, kind: str
) -> None:
    request = StopRequest()
    callback = StopOnSignal(request) if kind == "without checkpoints" else Checkpointer(tmp_path, request)
    loop = loop_of(six_nodes, callback)
    assert request.at_once
    callback.on_start(loop)
    assert not request.at_once
    request.received = signal.SIGTERM
    with pytest.raises(StoppedError, match="stopped by SIGTERM"):
        callback.on_epoch(loop)
    with pytest.raises(StoppedError, match="stopped by SIGTERM"):
        loop_of(six_nodes, callback)
