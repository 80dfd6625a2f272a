"""Readers of files that the program writes: run directories, checkpoints and the folder of a reproduction."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import numpy as np

from confgcn import ConfGCNClassifier
from confgcn.data.formats.registry import read_graph
from confgcn.exceptions import DataError, UsageError
from confgcn.io.atomic_files import Block
from confgcn.io.json_files import CHECKSUM_KEY
from confgcn.io.locks import LOCK, locked_folder
from confgcn.runs import new_nodes, report
from confgcn.runs.directory import SCHEMA_KEY, RunDirectory
from confgcn.runs.graph_input import GraphFiles
from confgcn.runs.records import read_metrics
from confgcn.runs.saved import record_environment
from confgcn.runs.settings import resolve
from confgcn.runs.train import make_loop
from confgcn.training.checkpoint import resume_from
from fuzzing import seeds
from fuzzing.reader import Reader
from fuzzing.seals import seal

sys.path.insert(0, str(Path(__file__).parents[2]))  # the package reproduction is not installed

from reproduction import folder as reproduction
from reproduction import reproduce
from reproduction.artefacts import Artefact

LOADED = (
    "config.json",
    "metrics.json",
    "history.jsonl",
    "model.json",
    "model.safetensors",
    "graph.npz",
    "held_out.json",
)
LOADED_TOO = ("held_out.safetensors", "estimator.json", "SHA256SUMS")
REPORTED = ("environment.json", "metrics.json", "history.jsonl", "model.json")
RESUMED = ("config.json", "environment.json", "metrics.json", "run.lock")
RECORDED = ("schema", SCHEMA_KEY, CHECKSUM_KEY)  # in config.json beside the configuration
CHECKPOINT = "checkpoints/epoch-0000002"
SHOWN = ("table2", "overview", "confidence")  # whose numbers are made from runs


def run_readers(graph: Path, run: seeds.Files, saved: seeds.Files) -> Iterator[Reader]:
    """``run`` was written by the command, ``saved`` by the estimator."""
    for name in (*LOADED, *LOADED_TOO):
        yield Reader(f"load/{name}", _load, {name: saved[name]}, saved, seal=seal)
    for name in REPORTED:
        yield Reader(f"report/{name}", _report, {name: run[name]}, run, 0.5, seal=seal)
    yield Reader("load/command/model.json", _load, {"model.json": run["model.json"]}, run, seal=seal)
    resume, lock = _Resume(graph, run), frozenset({LOCK})
    for slot in (*RESUMED, f"{CHECKPOINT}.json", f"{CHECKPOINT}.safetensors"):
        yield Reader(f"resume/{slot}", resume, {slot: run[slot]}, run, seal=seal, may_write=lock)
    in_parts = seeds.run_in_parts(run, CHECKPOINT)
    for slot in sorted(name for name in in_parts if name.startswith(CHECKPOINT)):
        name = f"resume/parts/{Path(slot).name}"
        yield Reader(name, resume, {slot: in_parts[slot]}, in_parts, seal=seal, may_write=lock)
    edges, nodes = seeds.edge_tables(), seeds.node_tables()
    for kind, given, other in (("edges", edges, nodes["nodes.csv"]), ("nodes", nodes, edges["edges.csv"])):
        slots = {f"new/{name}": content for name, content in given.items()}
        beside = {f"new/{'nodes' if kind == 'edges' else 'edges'}.csv": other}
        yield Reader(f"predict/{kind}", _predict, slots, {**run, **beside})
    new = {"new/edges.csv": edges["edges.csv"], "new/nodes.csv": nodes["nodes.csv"]}
    yield Reader("predict/model.json", _predict, {"model.json": run["model.json"]}, {**run, **new}, seal=seal)
    wholes = {f"new/{name}": content for name, content in seeds.whole_graphs(graph).items() if name.startswith("graph")}
    yield Reader("predict/graph", _predict_graph, wholes, run)


def reproduction_readers() -> Iterator[Reader]:
    """One for each file that ``confgcn reproduce --render-only`` reads."""
    files = seeds.reproduction_files()
    for name, content in files.items():
        yield Reader(f"reproduce/{name}", _rendered, {name: content}, files)


def _load(folder: Path) -> object:
    """All numbers must be finite."""
    estimator = ConfGCNClassifier.load(folder)
    if not np.isfinite(estimator.predict_proba()).all():
        raise AssertionError("a probability that is not finite was let out")
    return estimator.predict_set()


def _report(folder: Path) -> object:
    with mock.patch.object(report, "write_atomic"), mock.patch.object(report, "locked_folder", _not_held):
        return report.write_report(folder)


@contextmanager
def _not_held(path: Path) -> Iterator[list[str]]:
    yield []


class _Resume:
    """What ``confgcn train --resume`` reads before it resumes."""

    def __init__(self, graph: Path, run: seeds.Files) -> None:
        self.graph = read_graph(graph).build()
        self.config = {key: value for key, value in json.loads(run["config.json"]).items() if key not in RECORDED}
        self.loop = make_loop(self.graph, resolve("confgcn", "default", "", {"epochs": 2}))

    def __call__(self, folder: Path) -> object:
        directory = RunDirectory(folder)
        with locked_folder(folder):
            if not directory.holds_run:
                raise UsageError(f"{folder}: holds no run")
            directory.start(self.config)
            record_environment(directory.environment, self.graph.fingerprint, self.graph.notices())
            read_metrics(directory.metrics)
            return resume_from(directory.checkpoints, self.loop)


def _predict(folder: Path) -> object:
    files = {file.name.partition(".")[0]: file for file in (folder / "new").iterdir()}
    return _predicted(folder, GraphFiles(edges=files["edges"], nodes=files["nodes"]))


def _predict_graph(folder: Path) -> object:
    return _predicted(folder, GraphFiles(next((folder / "new").iterdir())))


def _made(_: Path, blocks: Iterable[Block]) -> None:
    """A table that is made, and not written."""
    for _block in blocks:
        pass


def _predicted(folder: Path, files: GraphFiles) -> object:
    with mock.patch.object(new_nodes, "write_blocks", _made):
        return new_nodes.write_predictions(folder, Path("new_nodes.csv"), files)


def _rendered(folder: Path) -> object:
    """The numbers of what needs no graph, from the runs; and every table and text, from the numbers."""
    request = reproduce.ReproductionRequest(names=SHOWN, out=folder, render_only=True)
    with (
        mock.patch.object(reproduce, "write_atomic"),
        mock.patch.object(reproduce, "locked_folder", _not_held),
        mock.patch.object(reproduction, "write_atomic"),
        mock.patch.object(Artefact, "pictures", return_value={}),
    ):
        for failure in reproduce.reproduce(request, reproduce.Observer()).values():
            raise DataError(failure.reason)
        return reproduction.render(folder, ("all",))
