"""A run on a graph that was made harder is read again with that graph and no other."""

from __future__ import annotations

import resource
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn.data.demo import load_demo
from confgcn.data.formats.npz import graph_npz_bytes
from confgcn.data.raw import raw_from_graph
from confgcn.data.synthetic import block_model
from confgcn.estimator import ConfGCNClassifier
from confgcn.exceptions import CorruptFileError, DataError, UsageError
from confgcn.io.checksums import SUMS, write_checksums
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.runs.directory import RunDirectory
from confgcn.runs.request import RunRequest
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run
from confgcn.runs.settings import resolve
from confgcn.runs.train import train, trained_loop

SEED = 3
HARDER = {"epochs": 3, "edges_between_classes": 0.2, "flipped_labels": 0.1, "held_back_validation": 0.5}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("saved") / "run"
    train(RunRequest(graph="demo", seed=SEED, out=out, overrides={**HARDER, "search": False}), notify=lambda _: None)
    return load_run(out)


def test_the_graph_trained_on_is_made_again_with_the_seed_of_the_run(saved: Run) -> None:
    settings, graph = resolve("confgcn", "default", "demo", HARDER), load_demo()
    prepared = saved.prepared
    assert prepared.fingerprint == settings.data.prepare(graph, seed=SEED).fingerprint
    assert prepared.fingerprint != settings.data.prepare(graph, seed=SEED + 1).fingerprint
    assert prepared.edge_counts.unique == round(1.2 * graph.edge_counts.unique)
    assert int((prepared.labels != graph.labels).sum()) == 14
    assert (len(graph.validation), len(prepared.validation)) == (500, 125)  # half held back; of the rest half certify
    assert len(settings.data.certifying_nodes(graph, seed=SEED)) == 125


def test_predictions_are_those_of_the_training_on_that_graph(saved: Run) -> None:
    loop = trained_loop(load_demo(), resolve("confgcn", "default", "demo", {**HARDER, "search": False}), seed=SEED)
    trained, read = loop.predict(), saved.prediction
    assert torch.equal(read.logits, trained.logits)
    assert torch.equal(read.influence, trained.influence)
    assert len(read.influence) == saved.prepared.adjacency.num_entries


def test_several_seeds_are_disturbed_each_in_its_own_way(tmp_path: Path) -> None:
    request = RunRequest(graph="demo", method="feat", seeds=2, out=tmp_path / "runs", overrides={**HARDER, "epochs": 1})
    train(request, notify=lambda _: None)
    graphs = [load_run(tmp_path / "runs" / f"seed-{seed}").prepared for seed in (0, 1)]
    assert not torch.equal(graphs[0].labels, graphs[1].labels)
    assert not torch.equal(graphs[0].adjacency.indices, graphs[1].adjacency.indices)


GRAPH = block_model(120, seed=1)
CROSS_FITTED = replace(GRAPH, validation=torch.empty(0, dtype=torch.long), name="mine")


@pytest.fixture(scope="module")
def cross_fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("cross_fitted") / "run"
    train(RunRequest(CROSS_FITTED, preset="consensus", overrides={"epochs": 2}, out=out), notify=lambda _: None)
    return out


@pytest.fixture
def run(cross_fitted: Path, tmp_path: Path) -> RunDirectory:
    return RunDirectory(Path(shutil.copytree(cross_fitted, tmp_path / "run")))


def forge(run: RunDirectory, stem: str, change: Callable[[dict[str, Tensor], dict[str, Any]], object]) -> None:
    """Alter weights and their record as one would who can make checksums fit."""
    tensors, record = read_tensors(run.path / stem)
    change(tensors, record)
    write_tensors(run.path / stem, tensors, record)
    names = [line.split("  ")[1] for line in (run.path / SUMS).read_text().splitlines() if "  " in line]
    write_checksums(run.path, [run.path / name for name in names], not_yet_written={})


WEIGHTS: dict[str, tuple[Callable[[dict[str, Tensor], dict[str, Any]], object], str]] = {
    "a part less": (lambda tensors, _: tensors.pop("layers.0.weight"), "lacks or should not hold layers.0.weight"),
    "a part more": (lambda tensors, _: tensors.update(x=torch.zeros(1)), "lacks or should not hold x"),
    "another shape": (lambda tensors, _: tensors.update({"layers.0.weight": torch.zeros(2)}), r"has the shape \(2,\)"),
    "another type": (
        lambda tensors, _: tensors.update({"layers.0.weight": tensors["layers.0.weight"].double()}),
        r"layers\.0\.weight has the shape .* and torch\.float64",
    ),
    "no number": (lambda tensors, _: tensors["layers.0.weight"].fill_(torch.nan), "numbers that are not finite"),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_that_do_not_fit_are_refused_by_the_name_of_their_file(run: RunDirectory, kind: str) -> None:
    change, problem = WEIGHTS[kind]
    forge(run, "model", change)
    with pytest.raises(CorruptFileError, match=rf"model\.safetensors: corrupt, .*{problem}"):
        load_run(run.path)


@pytest.mark.parametrize(
    "change",
    [
        lambda _, record: record["shape"].update(num_nodes=10**9),
        lambda _, record: record["config"]["model"].update(hidden_dim=65_536),
    ],
    ids=["nodes", "width"],
)
def test_sizes_that_no_weights_stand_behind_take_no_memory(
    run: RunDirectory, change: Callable[[dict[str, Tensor], dict[str, Any]], object]
) -> None:
    forge(run, "model", change)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CorruptFileError, match=r"model\.safetensors: corrupt, .* has the shape"):
        load_run(run.path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda record: record["config"].update(method="none"), "unknown method 'none'"),
        (lambda record: record["config"]["model"].update(dropout="x"), "dropout = 'x'"),
        (lambda record: record["config"]["data"].update(x=1), "unknown setting 'x'"),
    ],
    ids=["method", "model", "data"],
)
def test_a_record_of_no_method_is_refused(run: RunDirectory, change: Callable[[Any], object], problem: str) -> None:
    forge(run, "model", lambda _, record: change(record))
    with pytest.raises(CorruptFileError, match=rf"model\.json: describes no method of this version \(.*{problem}"):
        load_run(run.path)


@pytest.mark.parametrize(
    "logits", [torch.zeros(3, 4), torch.zeros(120, 4, dtype=torch.bool), torch.full((120, 4), torch.inf), None]
)
def test_what_was_held_out_fits_the_graph_and_is_finite(run: RunDirectory, logits: Tensor | None) -> None:
    forge(
        run, "held_out", lambda tensors, _: tensors.pop("logits") if logits is None else tensors.update(logits=logits)
    )
    with pytest.raises(CorruptFileError, match=r"held_out\.safetensors: corrupt, .*logits"):
        load_run(run.path)


def test_weights_that_overflow_give_no_label(run: RunDirectory) -> None:
    """Of numbers that are none the first class would be the largest."""
    forge(run, "model", lambda tensors, _: [tensors[name].fill_(3e38) for name in tensors if "layers" in name])
    for name in ("prediction", "probabilities", "assessment"):
        with pytest.raises(DataError, match=rf"{run.path}: .*the prediction \(logits\) is not finite"):
            getattr(load_run(run.path), name)


def test_a_graph_that_does_not_belong_to_the_run_is_said_with_its_file(run: RunDirectory) -> None:
    forge(run, "model", lambda _, record: record.update(graph_sha256="0" * 64))
    with pytest.raises(DataError, match=rf"{run.path}: .*not the graph the method was trained on"):
        _ = load_run(run.path).probabilities
    saved = load_run(run.path)
    run.graph.write_bytes(graph_npz_bytes(replace(raw_from_graph(CROSS_FITTED), edges=np.array([[0, 999]]))))
    with pytest.raises(DataError, match=r"graph\.npz: edges: row 0 names node 999"):
        _ = saved.graph


def test_a_preset_that_is_not_known_any_more_is_said_with_the_run(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    train(RunRequest(GRAPH, method="feat", overrides={"epochs": 2}, out=run.path), notify=lambda _: None)
    forge(run, "model", lambda _, record: record["config"].update(preset="forgotten"))
    assert load_run(run.path).config["preset"] == "forgotten"  # its settings are in the record
    with pytest.raises(UsageError, match=rf"{run.path}: unknown preset of feat 'forgotten'"):
        ConfGCNClassifier.load(run.path)


def test_a_preset_that_named_a_model_which_is_not_known_any_more_is_refused(run: RunDirectory) -> None:
    forge(run, "model", lambda _, record: record["config"].update(preset="forgotten"))
    problem = r"describes no method of this version \(unknown preset of confgcn 'forgotten'"
    for load in (load_run, ConfGCNClassifier.load):
        with pytest.raises(CorruptFileError, match=rf"{run.path}/model\.json: {problem}"):
            load(run.path)
