"""The progress bar of a training."""

from __future__ import annotations

import pytest

from confgcn.cli import progress
from confgcn.cli.progress import KeepFreedMemory, ProgressBar
from confgcn.graph import Graph
from confgcn.runs.request import RunRequest
from confgcn.runs.settings import make_method
from confgcn.training.loop import TrainingLoop


def loop_with(graph: Graph, bar: ProgressBar, epochs: int = 4) -> TrainingLoop:
    settings = RunRequest(graph, overrides={"epochs": epochs, "stop": "never"}).settings()
    return TrainingLoop(make_method(graph, settings), graph, settings.recipe, callbacks=[bar])


def test_each_run_has_a_bar_with_its_epochs_and_best_accuracy(
    small_graph: Graph, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.0)
    bar = ProgressBar("demo, gcn")
    for _ in range(2):
        loop_with(small_graph, bar).fit()
    bar.close()
    out, errors = capsys.readouterr()
    assert out == ""
    assert "demo, gcn, run 1" in errors
    assert "demo, gcn, run 2" in errors
    assert "4/4" in errors
    assert "best validation" in errors


def test_trainings_inside_a_run_share_a_line(small_graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar("demo, gcn")
    for title in ("candidate 1 of 2: linear", "candidate 2 of 2: gains", ""):
        loop = loop_with(small_graph, bar)
        loop.title = title
        bar.on_setup(loop)
        loop.fit()
    shown = [task.description for task in bar.progress.tasks]
    bar.close()
    assert "demo, gcn, candidate 1 of 2: linear" not in shown
    assert "demo, gcn, candidate 2 of 2: gains" not in shown


def test_a_bar_that_was_never_drawn_can_be_closed(capsys: pytest.CaptureFixture[str]) -> None:
    ProgressBar("demo, gcn").close()
    assert capsys.readouterr() == ("", "")


def test_epochs_in_quick_succession_are_drawn_once(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    bar = ProgressBar("demo, gcn")
    times = iter([10.0, 10.05, 10.2])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times))
    assert [bar._is_due() for _ in range(3)] == [True, False, True]


def test_memory_is_kept_from_the_start_of_training_on(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(progress, "keep_freed_memory", lambda: calls.append("kept"))
    callback = KeepFreedMemory()
    loop = loop_with(small_graph, ProgressBar(""))
    callback.on_setup(loop)
    assert calls == []
    callback.on_start(loop)
    assert calls == ["kept"]
