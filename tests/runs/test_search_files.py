"""An interrupted search does not train its candidates again, and ends with the bytes of an uninterrupted one."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from confgcn.data.synthetic import block_model
from confgcn.exceptions import CorruptFileError, ResourceError, StoppedError
from confgcn.graph import Graph
from confgcn.runs.request import RunRequest
from confgcn.runs.search import Search, Trial
from confgcn.runs.search_files import SavedCandidates, read_candidate, write_candidate
from confgcn.runs.settings import Candidate, RunSettings, resolve
from confgcn.runs.train import train
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop

CANDIDATES = tuple(Candidate(name, {"channels": name}) for name in ("summed", "apart", "own"))
SAME_BYTES = ("model.safetensors", "model.json", "predictions.csv", "history.jsonl", "label_errors.csv")


@pytest.fixture(autouse=True)
def few_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three candidates instead of those of the preset."""
    of_preset = RunRequest.settings
    monkeypatch.setattr(RunRequest, "settings", lambda self: replace(of_preset(self), candidates=CANDIDATES))


@pytest.fixture(params=["validation", "cross-fitted"])
def graph(request: pytest.FixtureRequest) -> Graph:
    """With and without validation nodes."""
    drawn = block_model(120, seed=1, per_class=12)
    return drawn if request.param == "validation" else replace(drawn, validation=drawn.validation[:0])


class StopIn(Callback):
    """Stops in the epoch of the n-th training that this process begins."""

    def __init__(self, number: int, epoch: int) -> None:
        self.number, self.epoch, self.begun, self.titles = number, epoch, 0, list[str]()

    def on_start(self, loop: TrainingLoop) -> None:
        self.begun += 1
        self.titles.append(loop.title)

    def on_epoch(self, loop: TrainingLoop) -> None:
        if self.begun == self.number and len(loop.history) == self.epoch:
            raise StoppedError("stopped by SIGINT", signal.SIGINT)


def run(graph: Graph, out: Path, *callbacks: Callback, notices: list[str] | None = None, **options: Any) -> None:
    request = RunRequest(graph=graph, preset="propagated", overrides={"epochs": 4, "evaluate_every": 1}, out=out)
    train(replace(request, **options), notify=[].append if notices is None else notices.append, callbacks=callbacks)


def stopped(graph: Graph, out: Path, number: int, epoch: int = 2) -> None:
    with pytest.raises(StoppedError, match=f"repeat the command with --out {out} --resume"):
        run(graph, out, StopIn(number, epoch))


@pytest.mark.parametrize("number", [1, 2, 4])
@pytest.mark.parametrize("epoch", [1, 3])
def test_a_search_that_is_stopped_inside_a_candidate_resumes_to_the_same_bytes(
    graph: Graph, tmp_path: Path, number: int, epoch: int
) -> None:
    run(graph, tmp_path / "whole")
    stopped(graph, tmp_path / "broken", number, epoch)
    saved = sorted(file.name for file in (tmp_path / "broken/search").glob("*.json"))
    assert saved == [f"candidate-{k:02d}.json" for k in range(number - 1)]
    run(graph, tmp_path / "broken", if_exists="resume")
    for file in SAME_BYTES:
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "broken" / file).read_bytes(), file
    assert not (tmp_path / "broken/search").exists()


def test_saved_candidates_are_not_trained_again(graph: Graph, tmp_path: Path) -> None:
    stopped(graph, tmp_path / "run", 3)
    watching = StopIn(0, 0)
    run(graph, tmp_path / "run", watching, if_exists="resume")
    assert watching.titles[0] == "candidate 3 of 3: own"


@pytest.mark.parametrize("suffix", [".json", ".safetensors"])
def test_a_damaged_candidate_is_trained_again_with_a_notice(graph: Graph, tmp_path: Path, suffix: str) -> None:
    run(graph, tmp_path / "whole")
    stopped(graph, tmp_path / "broken", 3)
    damaged = (tmp_path / "broken/search/candidate-00").with_suffix(suffix)
    damaged.write_bytes(damaged.read_bytes()[:-3])
    notices: list[str] = []
    run(graph, tmp_path / "broken", notices=notices, if_exists="resume")
    assert [text for text in notices if "candidate-00" in text and "the candidate is trained again" in text]
    for file in SAME_BYTES:
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "broken" / file).read_bytes(), file


def test_overwriting_removes_the_candidates_of_the_run_before(graph: Graph, tmp_path: Path) -> None:
    stopped(graph, tmp_path / "run", 3)
    watching = StopIn(0, 0)
    run(graph, tmp_path / "run", watching, if_exists="overwrite")
    assert watching.titles[0] == "candidate 1 of 3: summed"
    assert not (tmp_path / "run/search").exists()


@pytest.mark.parametrize("if_exists", ["resume", "overwrite"])
def test_a_link_in_the_place_of_the_folder_is_refused(graph: Graph, tmp_path: Path, if_exists: str) -> None:
    stopped(graph, tmp_path / "run", 1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "candidate-00.json").write_text("mine")
    (tmp_path / "run/search").symlink_to(elsewhere)
    with pytest.raises(ResourceError, match="a link"):
        run(graph, tmp_path / "run", if_exists=if_exists)
    assert (elsewhere / "candidate-00.json").read_text() == "mine"


def settings() -> RunSettings:
    chosen = resolve("confgcn", "propagated", "", {"epochs": 1})
    return replace(chosen, candidates=CANDIDATES)


def test_a_candidate_is_read_as_it_was_written(small_graph: Graph, tmp_path: Path) -> None:
    search = Search(small_graph, settings(), seed=0)
    trained = search.train(search.trials()[0])
    write_candidate(tmp_path / "candidate-00", trained)
    state = torch.get_rng_state()
    again = read_candidate(tmp_path / "candidate-00", search, trained.trial)
    assert torch.equal(torch.get_rng_state(), state)
    assert (again.history, again.best, again.options) == (trained.history, trained.best, trained.options)
    assert torch.equal(again.logits, trained.logits)
    weights = trained.method.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in again.method.state_dict().items())


@pytest.mark.parametrize(
    "other", [Candidate("other", {"channels": "summed"}), Candidate("summed", {"channels": "summed", "order": 3})]
)
def test_a_candidate_of_other_settings_is_not_used(small_graph: Graph, tmp_path: Path, other: Candidate) -> None:
    search = Search(small_graph, settings(), seed=0)
    write_candidate(tmp_path / "candidate-00", search.train(search.trials()[0]))
    trial = Trial(0, 1, other)
    with pytest.raises(CorruptFileError, match="not the candidate"):
        read_candidate(tmp_path / "candidate-00", search, trial)
    notices: list[str] = []
    trained = SavedCandidates(tmp_path, notices.append).training(search, search.train)(trial)
    assert trained.trial == trial
    assert len(notices) == 1
    assert read_candidate(tmp_path / "candidate-00", search, trial).trial == trial
