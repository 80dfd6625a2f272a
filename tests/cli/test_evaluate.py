"""``confgcn evaluate`` and ``confgcn explain`` as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def confgcn(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "confgcn", *map(str, words)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "demo"
    assert confgcn("train", "demo", "--epochs", 3, "--out", out).returncode == 0
    return out


def test_evaluate_speaks_to_people_and_to_programs(run: Path) -> None:
    shown = confgcn("evaluate", run)
    assert shown.returncode == 0
    for words in (
        "of a perfect model on so few nodes",
        "influence tells edges within a label",
        "no label in component",
    ):
        assert words in shown.stdout
    told = confgcn("evaluate", run, "--json")
    found = json.loads(told.stdout)
    assert told.stdout.count("\n") == 1
    assert all(isinstance(value, float | int | str | None) for value in found.values())
    assert {"ece_floor", "calibrated_nll", "auroc_edge", "uniform_trained_accuracy"} <= found.keys()


def test_explain_names_the_neighbours(run: Path) -> None:
    told = json.loads(confgcn("explain", run, "35", "--json").stdout)
    assert told["node"] == "35"
    assert told["effects"]
    assert told["raw_probabilities"].keys() == told["effects"][0]["change"].keys()
    assert told["effects"][0]["neighbour"] in confgcn("explain", run, "35").stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("evaluate", "{empty}"), 4, "holds no finished run"),
        (("explain", "{run}", "3x5"), 2, "unknown node of demo '3x5'"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Path, tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    result = confgcn(*(word.format(empty=tmp_path, run=run) for word in words))
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 2_000
