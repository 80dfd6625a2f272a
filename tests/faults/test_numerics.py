"""Numbers that run away: training stops, or what it leaves is finite."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from confgcn import RunRequest, train
from confgcn.data.synthetic import block_model
from confgcn.exceptions import DivergedError
from confgcn.io.tensor_files import read_tensors
from confgcn.runs.settings import resolve
from confgcn.runs.train import make_loop
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

PRESETS = ("consensus", "released", "paper")
GRAPH = block_model(120, seed=1)
OWN = ("train", "mygraph", "--validation", 0.3, "--out", "run")


def rows_of(run: Path) -> list[dict[str, str]]:
    with (run / "predictions.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def assert_sound(run: Path) -> None:
    """Every number of the table is finite, probabilities are such, and no confidence is negative."""
    for row in rows_of(run):
        numbers = {name: float(text) for name, text in row.items() if name.startswith(("prob", "precision", "mu"))}
        assert all(map(math.isfinite, numbers.values()))
        assert all(0 <= value <= 1 for name, value in numbers.items() if name.startswith("prob"))
        assert all(value >= 0 for name, value in numbers.items() if name.startswith("precision"))


@pytest.mark.fault("N01")
@pytest.mark.parametrize("preset", ["default", *PRESETS])
def test_the_largest_learning_rate_gives_finite_numbers_or_none(outside: Outside, preset: str) -> None:
    outside.write_graph()
    ended = outside.run(*OWN, "--preset", preset, "--epochs", 2, "--set", "learning_rate=1e6")
    assert ended.code in (0, 5), ended.errors
    if ended.code == 0:
        assert_sound(outside.folder / "run")
    assert (outside.folder / "run" / "predictions.csv").is_file() == (ended.code == 0)


@pytest.mark.fault("N02")
@pytest.mark.parametrize("preset", PRESETS)
def test_nodes_with_equal_label_scores_have_finite_influence(preset: str) -> None:
    graph = GRAPH
    loop = make_loop(graph, resolve("confgcn", preset, "", {"epochs": 1}))
    for score in (0.0, 1e6):
        torch.nn.init.constant_(loop.method.label_distribution.raw_mu, score)  # type: ignore[union-attr, arg-type]
        prediction = loop.predict()
        assert prediction.distance is not None
        assert prediction.influence is not None
        assert not prediction.distance.any()
        assert prediction.influence.isfinite().all()
        assert (prediction.influence >= 0).all()


class Disturbed(Callback):
    """Sets every precision to a value after the first epoch, as a step that went astray would."""

    def __init__(self, precision: float) -> None:
        self.precision = precision

    def on_epoch(self, loop: TrainingLoop) -> None:
        if len(loop.history) == 1:
            torch.nn.init.constant_(loop.method.label_distribution.raw_precision, self.precision)  # type: ignore[union-attr, arg-type]


@pytest.mark.fault("N03")
@pytest.mark.parametrize("precision", [0.0, -1e-30, -1.0, -1e30, 1e30])
@pytest.mark.parametrize("preset", PRESETS)
def test_an_extreme_precision_is_refused_or_leaves_finite_confidences(
    preset: str, precision: float, tmp_path: Path
) -> None:
    request = RunRequest(GRAPH, preset=preset, overrides={"epochs": 3}, out=tmp_path / "run")
    try:
        train(request, notify=lambda _: None, callbacks=[Disturbed(precision)])
    except DivergedError:
        assert preset in ("released", "paper")  # the others keep it between 0 and 1
        assert not (tmp_path / "run" / "predictions.csv").exists()
    else:
        assert_sound(tmp_path / "run")
        inside = read_tensors(tmp_path / "run" / "model")[0]["label_distribution.raw_precision"]
        assert inside.isfinite().all()


@pytest.mark.fault("N03")
@pytest.mark.parametrize("preset", ["released", "paper"])
def test_a_negative_precision_is_not_exported(preset: str, tmp_path: Path) -> None:
    """Where a preset has such, as its authors do: what is written of it is zero."""
    overrides = {"epochs": 2, "select": "last"}
    request = RunRequest(GRAPH, preset=preset, overrides=overrides, out=tmp_path / "run")
    train(request, notify=lambda _: None, callbacks=[Disturbed(-0.2)])
    assert_sound(tmp_path / "run")
    inside = read_tensors(tmp_path / "run" / "model")[0]["label_distribution.raw_precision"]
    assert (inside < 0).any()
    written = [float(text) for row in rows_of(tmp_path / "run") for name, text in row.items() if "precision_" in name]
    assert 0.0 in written


@pytest.mark.fault("N04")
def test_a_training_that_diverges_stops_and_keeps_the_best_weights_from_before(outside: Outside) -> None:
    diverging = ("--set", "optimiser=sgd", "--set", "learning_rate=1000", "--epochs", 60)
    outside.write_graph()
    ended = outside.run(*OWN, "--preset", "consensus", *diverging)
    assert ended.code == 5
    message = ended.errors.splitlines()[-1]
    assert message.startswith("error: training diverged in epoch ")
    assert "is not finite; try a smaller learning_rate. The weights of epoch " in message
    assert message.endswith(" are kept in run/best_before_divergence.*")
    assert int(message.split("epoch ")[1].split(":")[0]) > int(message.split("epoch ")[2].split()[0]) >= 1
    run = outside.folder / "run"
    weights, record = read_tensors(run / "best_before_divergence")
    assert all(tensor.isfinite().all() for tensor in weights.values())
    assert record["config"]["recipe"]["learning_rate"] == 1000
    assert not (run / "predictions.csv").exists()
    outside.refuses("report", "run", code=4, naming=["run: holds no finished run"])


def test_a_search_stops_where_every_candidate_diverges(outside: Outside) -> None:
    diverging = ("--set", "optimiser=sgd", "--set", "learning_rate=1e6", "--epochs", 60)
    outside.write_graph()
    ended = outside.run(*OWN, *diverging)
    assert ended.code == 5
    message = ended.errors.splitlines()[-1]
    assert re.fullmatch(
        r"error: training diverged in epoch \d+: .* is not finite; try a smaller learning_rate", message
    ), message
    run = outside.folder / "run"
    assert not (run / "predictions.csv").exists()
    assert not list(run.rglob("candidate-*"))  # none to resume with
    outside.refuses("report", "run", code=4, naming=["run: holds no finished run"])
