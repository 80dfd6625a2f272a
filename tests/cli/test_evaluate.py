"""``confgcn evaluate`` and ``confgcn explain`` as a user runs them."""

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


def test_evaluate_prints_a_table_or_one_json_object(confgcn: Command, run: Path) -> None:
    shown = confgcn("evaluate", run)
    assert shown.returncode == 0
    for words in (
        "noise floor (perfect calibration)",
        "AUROC of same-label edges, by influence",
        "no label in component",
    ):
        assert words in shown.stdout
    printed = confgcn("evaluate", run, "--json")
    found = json.loads(printed.stdout)
    assert printed.stdout.count("\n") == 1
    assert all(isinstance(value, float | int | str | None) for value in found.values())
    assert {"ece_floor", "calibrated_nll", "auroc_edge", "uniform_trained_accuracy"} <= found.keys()


def test_explain_names_the_neighbours(confgcn: Command, run: Path) -> None:
    printed = json.loads(confgcn("explain", run, "35", "--json").stdout)
    assert printed["node"] == "35"
    assert printed["effects"]
    assert printed["raw_probabilities"].keys() == printed["effects"][0]["change"].keys()
    assert printed["effects"][0]["neighbour"] in confgcn("explain", run, "35").stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("evaluate", "{empty}"), 4, "holds no finished run"),
        (("explain", "{run}", "3x5"), 2, "unknown node of demo '3x5'"),
    ],
)
def test_an_error_has_its_code_and_names_its_cause(
    confgcn: Command, run: Path, tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    result = confgcn(*(word.format(empty=tmp_path, run=run) for word in words))
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 2_000
