"""Write a run directory: environment, history, predictions, model, metrics."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from confgcn import kernels
from confgcn.confidence.assessment import Assessment
from confgcn.data.formats.npz import graph_npz_bytes
from confgcn.data.raw import raw_from_graph
from confgcn.evaluation.metrics import accuracy
from confgcn.evaluation.scorecard import summarise_confidence
from confgcn.exceptions import CorruptFileError, DataError, brief
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_atomic, write_blocks
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.models.base import AbstractMethod, Prediction, Shape
from confgcn.runs.directory import RunDirectory, flattened
from confgcn.runs.predictions import disagreeing_edges_table, label_errors_table, prediction_blocks
from confgcn.runs.run import Run
from confgcn.runs.tables import csv_blocks, csv_bytes
from confgcn.training.selection import Record

LIBRARIES = ("confgcn", "torch", "numpy", "scipy", "safetensors")


def software() -> dict[str, Any]:
    """The versions that the bits of a result can depend on."""
    return {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "kernels": kernels.active_name(),
    }


def record_environment(path: Path, fingerprint: str, notices: Sequence[str]) -> list[str]:
    """Write versions, threads and the hash of the input, or compare them with those a run began with.

    Another graph is an error; returns a notice for everything else that a result's bits can depend on.
    """
    now = {
        **software(),
        "platform": platform.platform(),
        "threads": torch.get_num_threads(),
        "graph_sha256": fingerprint,
        "notices": list(notices),
    }
    if not path.is_file():
        write_checksummed_json(path, now)
        return []
    recorded, current = flattened(read_checksummed_json(path)), flattened(now)
    if recorded.get("graph_sha256") != fingerprint:
        raise DataError(f"{path.parent}: cannot resume, the run began with another graph")
    return [
        f"{key} was {brief(repr(recorded.get(key)))} when the run began, now {value!r}: the result may differ in its "
        "last bits"
        for key, value in current.items()
        if recorded.get(key) != value
    ]


def save_run(directory: RunDirectory, run: Run) -> None:
    """Write a run directory that holds a copy of the graph, whatever its name."""
    directory.start(run.config)
    record_environment(directory.environment, run.graph.fingerprint, run.graph.notices())
    write_graph_copy(directory, run.graph)
    write_run(directory, run)


def write_run(directory: RunDirectory, run: Run) -> None:
    """All files of a finished run but the graph."""
    write_results(directory, run)
    write_model(directory.model, run.method, model_record(run.config, run.graph) | calibration_record(run.assessment))
    directory.finish(run.metrics)


def write_results(directory: RunDirectory, run: Run) -> None:
    """History, predictions, label errors, disagreeing edges, held-out predictions."""
    write_history(directory.history, run.history)
    write_blocks(directory.predictions, csv_blocks(prediction_blocks(run)))
    for file, table in (
        (directory.label_errors, label_errors_table(run)),
        (directory.disagreeing_edges, disagreeing_edges_table(run)),
    ):
        write_atomic(file, csv_bytes(table))
    if run.held_out is not None:
        write_held_out(directory.held_out, run.held_out)


def write_graph_copy(directory: RunDirectory, graph: Graph) -> None:
    """A copy of a graph that cannot be loaded again by name; without it the weights of single nodes are useless."""
    content = graph_npz_bytes(raw_from_graph(graph))
    if not directory.graph.is_file() or directory.graph.read_bytes() != content:
        write_atomic(directory.graph, content)


def write_held_out(stem: Path, prediction: Prediction) -> None:
    """The predictions for training nodes by trainings that did not see their labels."""
    tensors = {"logits": prediction.logits, "precision": prediction.precision}
    write_tensors(stem, {name: value.detach() for name, value in tensors.items() if value is not None}, {})


def read_held_out(stem: Path, shape: Shape) -> Prediction | None:
    """Read what :func:`write_held_out` wrote for a graph of that shape; None where a run has no such file."""
    if not stem.with_suffix(".json").is_file():
        return None
    tensors, _ = read_tensors(stem)
    expected = torch.zeros(shape.num_nodes, shape.num_classes, device="meta")
    check_weights(stem.with_suffix(".safetensors"), tensors, dict.fromkeys({"logits", *tensors}, expected))
    return Prediction(tensors["logits"], precision=tensors.get("precision"))


def check_weights(path: Path, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse tensors whose names, shapes or types are not the expected ones, or that are not finite."""
    if tensors.keys() != expected.keys():
        unlike = ", ".join(sorted(tensors.keys() ^ expected.keys()))
        raise CorruptFileError(f"{path}: corrupt, it lacks or should not hold {brief(unlike)}")
    for name, tensor in tensors.items():
        if (tensor.shape, tensor.dtype) != (expected[name].shape, expected[name].dtype):
            raise CorruptFileError(f"{path}: corrupt, {name} has the shape {tuple(tensor.shape)} and {tensor.dtype}")
        if not torch.isfinite(tensor).all():
            raise CorruptFileError(f"{path}: corrupt, {name} holds numbers that are not finite")


def write_model(stem: Path, method: AbstractMethod, record: dict[str, Any]) -> None:
    """Weights, and the record that belongs to them."""
    write_tensors(stem, method.state_dict(), record)


def model_record(config: dict[str, Any], graph: Graph) -> dict[str, Any]:
    """What is needed to rebuild the method, and the fingerprint of the graph it was trained on."""
    return {"config": config, "shape": Shape.of(graph).to_json(), "graph_sha256": graph.training_view().fingerprint}


def calibration_record(assessment: Assessment) -> dict[str, Any]:
    """How logits become probabilities."""
    return {"calibration": assessment.calibration.to_json()}


def write_history(path: Path, history: Sequence[Record]) -> None:
    """One JSON object per epoch."""
    write_atomic(path, "".join(json.dumps(record) + "\n" for record in history).encode())


def result_metrics(run: Run) -> dict[str, Any]:
    """Accuracy and confidence on the test nodes, the calibration and the decisions, for metrics.json."""
    graph, assessment, held_out = run.prepared, run.assessment, run.held_out
    found = {
        "test_accuracy": None,
        "held_out_accuracy": None if held_out is None else accuracy(held_out.logits[graph.train], graph.train_labels),
        "raw": None,
        "calibrated": None,
        "calibration": assessment.calibration.to_json(),
        "decisions": [] if assessment.decision is None else [assessment.decision.as_record()],
    }
    nodes = graph.test
    if not len(nodes):
        return found
    labels, logits = graph.labels[nodes], run.prediction.logits[nodes]
    precision = None if run.prediction.precision is None else run.prediction.precision[nodes]
    return {
        **found,
        "test_accuracy": accuracy(logits, labels),
        "raw": asdict(summarise_confidence(logits.softmax(-1), precision, labels)),
        "calibrated": asdict(summarise_confidence(assessment.probabilities[nodes], precision, labels)),
    }
