"""``confgcn explain``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def confgcn(tmp_path_factory: pytest.TempPathFactory, command_in: Command) -> Command:
    return partial(command_in, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, confgcn: Command) -> Path:
    out = tmp_path_factory.mktemp("runs") / "demo"
    assert confgcn("train", "demo", "--epochs", 3, "--out", out).returncode == 0
    return out


def test_explain_names_the_neighbours(confgcn: Command, run: Path) -> None:
    printed = json.loads(confgcn("explain", run, "35", "--json").stdout)
    assert printed["node"] == "35"
    assert printed["effects"]
    assert printed["raw_probabilities"].keys() == printed["effects"][0]["change"].keys()
    assert printed["effects"][0]["neighbour"] in confgcn("explain", run, "35").stdout


def test_a_hostile_name_is_found_and_a_misspelt_one_gets_a_suggestion(
    command: Command, trained: Path, hostile_names: tuple[str, ...]
) -> None:
    explained = json.loads(command("explain", trained, hostile_names[3], "--json").stdout)
    assert explained["node"] == hostile_names[3]
    wrong = command("explain", trained, "person 1O")
    assert wrong.returncode == 2
    assert "did you mean" in wrong.stderr
    unknown = command("explain", trained, "3x5")
    assert unknown.returncode == 2
    assert "'3x5'" in unknown.stderr
    assert "Traceback" not in unknown.stderr
    assert len(unknown.stderr) < 2_000


def test_a_run_with_rows_names_nodes_at_any_distance_with_their_weights(
    confgcn: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    out = tmp_path_factory.mktemp("runs") / "rows"
    trained = confgcn("train", "demo", "--preset", "propagated", "--set", "search=false", "--epochs", 3, "--out", out)
    assert trained.returncode == 0, trained.stderr
    printed = json.loads(confgcn("explain", out, "40", "--json").stdout)
    assert printed["removed"] == "contribution"
    assert max(effect["distance"] for effect in printed["effects"]) > 1
    assert 0 < sum(effect["weight"] for effect in printed["effects"]) < 1
    shown = " ".join(confgcn("explain", out, "40").stdout.split())
    assert "weight: its share in what the prediction is computed from" in shown
