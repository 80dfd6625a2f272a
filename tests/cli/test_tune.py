"""The search from the command line: what it prints, for people and for programs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytest.importorskip("optuna")


def test_the_best_settings_are_printed_as_settings_and_as_json(command: Command, tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text('epochs = [1, 4]\nhidden_dim = [4]\ninfluence = ["uniform"]')
    words = ("tune", "demo", "--preset", "consensus", "--space", "space.toml", "--study", "study.db", "--seeds", 1)
    shown = command(*words)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr.count("trial ") == 2
    found = json.loads(command(*words, "--json").stdout)  # of the same study, so nothing is tried again
    heading, *settings = shown.stdout.splitlines()
    assert found["trials"] == 2
    assert heading == f"# validation accuracy {found['validation_accuracy']:.4f} in 2 trials of 1 seeds"
    assert settings == [f"{name} = {value!r}" for name, value in found["settings"].items()]
    assert set(found["settings"]) == {"epochs", "hidden_dim", "influence"}


GRAPH = ("--edges", "edges.csv", "--nodes", "nodes.csv", "--validation", 0.3)


def write_graph(folder: Path) -> None:
    """A ring of twelve nodes of two classes."""
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{(i + 1) % 12}\n" for i in range(12)))
    rows = "".join(f"n{i},{'ab'[i // 6]},{i // 6},{i}\n" for i in range(12))
    (folder / "nodes.csv").write_text("id,label,width,height\n" + rows)


def test_a_preset_with_candidates_is_tuned_as_one_model(command: Command, tmp_path: Path) -> None:
    write_graph(tmp_path)
    (tmp_path / "space.toml").write_text("epochs = [2]")
    words = ("tune", *GRAPH, "--preset", "propagated", "--space", "space.toml", "--study", "study.db", "--seeds", 1)
    shown = command(*words)
    assert shown.returncode == 0, shown.stderr
    assert "preset propagated: its one model is tuned and not its candidates (search = false)" in shown.stderr
    assert shown.stdout.splitlines()[1:] == ["epochs = 2", "search = false"]


def test_the_search_itself_cannot_be_tuned(command: Command, tmp_path: Path) -> None:
    write_graph(tmp_path)
    (tmp_path / "space.toml").write_text("search = [true, false]")
    words = ("tune", *GRAPH, "--preset", "propagated", "--space", "space.toml", "--study", "study.db")
    refused = command(*words)
    assert refused.returncode == 2
    assert "search: tune trains one model with each choice of settings; leave it out" in refused.stderr
    assert not (tmp_path / "study.db").exists()
