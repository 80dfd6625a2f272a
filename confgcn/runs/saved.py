"""A finished run, read again: the trained method with all that its predictions depend on."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from confgcn.confidence.assessment import Assessment, assess
from confgcn.confidence.calibration import Calibration
from confgcn.data.datasets import load_graph
from confgcn.data.formats.npz import read_graph_npz
from confgcn.data.graph_names import GRAPH_NAMES
from confgcn.data.input_files import naming
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError, brief
from confgcn.graph import EdgeCounts, Graph
from confgcn.io.checksums import verify
from confgcn.io.locks import check_unlocked
from confgcn.io.tensor_files import read_tensors
from confgcn.kernels import all_finite
from confgcn.models.base import AbstractMethod, Prediction, Shape
from confgcn.models.registry import method_class
from confgcn.runs.directory import RunDirectory
from confgcn.runs.finished_run import FinishedRun
from confgcn.runs.outputs import check_weights, keep_graph, read_held_out, record_environment, write_run
from confgcn.runs.run_records import check_model_record, read_history, read_metrics
from confgcn.runs.settings import DataSettings, hyperparameters
from confgcn.runs.stored_graph import recorded_graph
from confgcn.training.recipe import validated
from confgcn.training.seed import seeded


@dataclass(frozen=True, eq=False)
class Judged:
    """A prediction and what to make of it.

    Attributes:
        graph: as the method saw it, but with all labels.
        probabilities: calibrated, (N, C).
        nodes: those it may be measured on: the method has not seen their labels.
        measured_on: what these are, in words.
    """

    graph: Graph
    prediction: Prediction
    probabilities: Tensor
    nodes: Tensor
    measured_on: Literal["test nodes", "labels held out in turn"]


@dataclass(frozen=True)
class SavedRun:
    """``config`` is the run's; ``shape`` and ``graph_sha256`` are those of the graph it was trained on.

    ``held_out`` is what was said of each training node without its label, where there were no validation nodes.
    """

    method: AbstractMethod
    config: dict[str, Any]
    data: DataSettings
    shape: Shape
    graph_sha256: str
    calibration: Calibration
    held_out: Prediction | None = None

    def predict(self, graph: Graph) -> Prediction:
        """Predict the nodes of the graph the method was trained on, given as it was loaded."""
        return finite_prediction(self.method, self.prepared(graph))

    def judge(self, graph: Graph) -> Judged:
        """Predict the graph it was trained on, given as it was loaded, and calibrate as the run did."""
        prepared = self.prepared(graph)
        prediction = finite_prediction(self.method, prepared)
        return Judged(
            prepared, prediction, self.calibration.probabilities(prepared, prediction), prepared.test, "test nodes"
        )

    def judge_held_out(self, graph: Graph) -> Judged | None:
        """What was said of each training node without its label; None where that was not asked."""
        if self.held_out is None:
            return None
        prepared = self.prepared(graph)
        probabilities = self.calibration.probabilities(prepared, self.held_out)
        return Judged(prepared, self.held_out, probabilities, prepared.train, "labels held out in turn")

    def measurable(self, graph: Graph) -> Judged:
        """Judged on test nodes or, where there are none, on labels held out in turn."""
        held_out = None if len(graph.test) else self.judge_held_out(graph)
        return held_out or self.judge(graph)

    def assessed(self, graph: Graph, **asked: float) -> tuple[Graph, Prediction, Assessment]:
        """The graph as the method saw it, what is predicted, and what to make of it, as at the end of training."""
        prepared = self.prepared(graph)
        prediction = finite_prediction(self.method, prepared)
        nodes = prepared.validation if self.held_out is None else prepared.train
        return (
            prepared,
            prediction,
            assess(prepared, prediction, nodes, held_out=self.held_out, feature_probabilities=None, **asked),
        )

    def prepared(self, graph: Graph) -> Graph:
        """The graph the method was trained on, given as it was loaded, as the settings wanted it."""
        if Shape.of(graph) != self.shape:
            raise DataError(f"{graph.name}: the method was trained on {self.shape}, this graph has {Shape.of(graph)}")
        if graph.training_view().fingerprint != self.graph_sha256:
            raise DataError(f"{graph.name}: not the graph the method was trained on, though its shape is the same")
        return self.data.prepare(graph, seed=self.config["seed"])


def finite_prediction(method: AbstractMethod, graph: Graph) -> Prediction:
    """What a trained method says of a prepared graph; numbers too large for it must not pass for a label."""
    prediction = method.predict(graph.training_view())
    for name in ("logits", "mu", "precision", "influence"):
        values = getattr(prediction, name)
        if values is not None and not all_finite(values):
            raise DataError(f"{graph.name}: what is predicted ({name}) is not finite: features or weights are large")
    return prediction


def load_run(run: Path | str) -> SavedRun:
    """The trained method of a run directory, every file of which is what it was when the run ended."""
    directory = RunDirectory(Path(run))
    _check_finished(directory)
    verify(directory.path)
    tensors, record = read_tensors(directory.model)
    file = directory.model.with_suffix(".json")
    check_model_record(file, record)
    try:
        saved = _rebuilt(directory.model.with_suffix(".safetensors"), tensors, record)
    except (TypeError, RuntimeError, UsageError) as error:
        raise CorruptFileError(f"{file}: describes no method of this version ({brief(error)})") from None
    return replace(saved, held_out=read_held_out(directory.held_out, saved.shape))


def graph_of(path: Path | str, run: SavedRun, *, data_dir: Path | None = None) -> Graph:
    """The graph a run was trained on, as it was loaded: the copy that the run keeps, or the one it names."""
    directory = RunDirectory(Path(path))
    if directory.graph.is_file():
        with naming(directory.graph):
            graph = read_graph_npz(directory.graph).build()
        unique = graph.edge_counts.unique  # the copy lists every edge once, whatever the files did
        counts = EdgeCounts(listed=2 * unique, duplicates=0, loops=0, one_way=0, unique=unique)
        return replace(graph, name=run.config["dataset"], edge_counts=counts)
    elsewhere = recorded_graph(run.config)
    if elsewhere is not None:
        return replace(elsewhere, name=run.config["dataset"])
    if run.config["dataset"] not in GRAPH_NAMES or "input" in run.config:
        raise ResourceError(f"{directory.graph.absolute()}: missing; it held the graph the run was trained on")
    return load_graph(run.config["dataset"], data_dir=data_dir, split_seed=run.config["split_seed"])


def as_saved(run: FinishedRun) -> SavedRun:
    """A finished run as it would be read again."""
    data = validated(DataSettings, run.config["data"], where="settings of the data")
    shape, fingerprint = Shape.of(run.graph), run.graph.training_view().fingerprint
    return SavedRun(run.method.eval(), run.config, data, shape, fingerprint, run.assessment.calibration, run.held_out)


def finished_run(path: Path | str, *, data_dir: Path | None = None) -> FinishedRun:
    """All that a run directory holds, in memory."""
    run, directory = load_run(path), RunDirectory(Path(path))
    graph = graph_of(path, run, data_dir=data_dir)
    with naming(directory.path):
        prepared, prediction, assessment = run.assessed(graph)
    history, metrics = read_history(directory.history), read_metrics(directory.metrics)
    return FinishedRun(graph, prepared, run.method, run.config, prediction, run.held_out, assessment, history, metrics)


def keep_run(directory: RunDirectory, run: FinishedRun) -> None:
    """Write a run directory that holds its graph, whatever it is called."""
    directory.start(run.config)
    record_environment(directory.environment, run.graph.fingerprint, run.graph.notices())
    keep_graph(directory, run.graph)
    write_run(directory, run)


def _check_finished(directory: RunDirectory) -> None:
    seeds = sorted(path.parent.name for path in directory.path.glob("seed-*/model.json"))
    if directory.finished and not seeds:
        return
    with suppress(OSError):  # a lock that cannot be opened says nothing
        check_unlocked(directory.path)
    hint = "; the command that began it ends it with --resume" if directory.holds_run else ""
    if seeds:
        hint = f"; it holds those of several seeds, name one of them: {', '.join(seeds[:3])}"
    raise ResourceError(f"{directory.path.absolute()}: holds no finished run{hint}")


def _rebuilt(file: Path, tensors: dict[str, Tensor], record: dict[str, Any]) -> SavedRun:
    config, shape = record["config"], Shape(**record["shape"])
    data = validated(DataSettings, config["data"], where="settings of the data")
    make = method_class(config["method"], config["preset"])
    settings = validated(hyperparameters(make), config["model"], where=f"settings of {config['method']}").model_dump()
    with torch.device("meta"):  # sizes that no weights stand behind would take memory before they are found out
        check_weights(file, tensors, make(shape, **settings).state_dict())
    with seeded(0):  # the weights drawn here are replaced; the caller's random state is not advanced
        method = make(shape, **settings)
    method.load_state_dict(tensors)
    given = record.get("calibration")  # weights kept from before a divergence have none
    calibration = Calibration() if given is None else Calibration.from_json(given)
    return SavedRun(method.eval(), config, data, shape, record["graph_sha256"], calibration)
