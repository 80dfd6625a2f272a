"""What a run leaves behind: environment, history, predictions, model, metrics."""

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
from confgcn.runs.csv_table import Columns, csv_blocks, numbers, table_bytes
from confgcn.runs.directory import RunDirectory, flattened
from confgcn.runs.finished_run import FinishedRun
from confgcn.runs.prediction_table import prediction_blocks
from confgcn.training.selection import Record

LIBRARIES = ("confgcn", "torch", "numpy", "scipy", "safetensors")


def software() -> dict[str, Any]:
    """What a result's bits can depend on, of all that is installed."""
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


def write_run(directory: RunDirectory, run: FinishedRun) -> None:
    """All files of a finished run."""
    write_found(directory, run)
    write_model(directory.model, run.method, model_record(run.config, run.graph) | calibration_record(run.assessment))
    directory.finish(run.metrics)


def write_found(directory: RunDirectory, run: FinishedRun) -> None:
    """What the training has found, all but the method and the metrics."""
    write_history(directory.history, run.history)
    write_predictions(directory.predictions, run)
    write_label_errors(directory, run.prepared, run.assessment)
    if run.held_out is not None:
        write_held_out(directory.held_out, run.held_out)


def write_predictions(path: Path, run: FinishedRun) -> None:
    """One row per node; of a large graph no more than some of them are ever held."""
    write_blocks(path, csv_blocks(prediction_blocks(run.prepared, run.prediction, run.assessment)))


def keep_graph(directory: RunDirectory, graph: Graph) -> None:
    """A copy of a graph that has no name to load it by; a model that knows every node is of no use without it."""
    content = graph_npz_bytes(raw_from_graph(graph))
    if not directory.graph.is_file() or directory.graph.read_bytes() != content:
        write_atomic(directory.graph, content)


def write_held_out(stem: Path, prediction: Prediction) -> None:
    """What was said of each training node by a training that had not seen its label."""
    tensors = {"logits": prediction.logits, "precision": prediction.precision}
    write_tensors(stem, {name: value.detach() for name, value in tensors.items() if value is not None}, {})


def read_held_out(stem: Path, shape: Shape) -> Prediction | None:
    """What :func:`write_held_out` wrote of a graph of that shape; None where there was no need to."""
    if not stem.with_suffix(".json").is_file():
        return None
    tensors, _ = read_tensors(stem)
    expected = torch.zeros(shape.num_nodes, shape.num_classes, device="meta")
    check_weights(stem.with_suffix(".safetensors"), tensors, dict.fromkeys({"logits", *tensors}, expected))
    return Prediction(tensors["logits"], precision=tensors.get("precision"))


def check_weights(path: Path, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Are they the expected ones, by name, shape and type, and finite?"""
    if tensors.keys() != expected.keys():
        unlike = ", ".join(sorted(tensors.keys() ^ expected.keys()))
        raise CorruptFileError(f"{path}: corrupt, it lacks or should not hold {brief(unlike)}")
    for name, tensor in tensors.items():
        if (tensor.shape, tensor.dtype) != (expected[name].shape, expected[name].dtype):
            raise CorruptFileError(f"{path}: corrupt, {name} has the shape {tuple(tensor.shape)} and {tensor.dtype}")
        if not torch.isfinite(tensor).all():
            raise CorruptFileError(f"{path}: corrupt, {name} holds numbers that are not finite")


def write_model(stem: Path, method: AbstractMethod, record: dict[str, Any]) -> None:
    """Weights, and what belongs to them."""
    write_tensors(stem, method.state_dict(), record)


def model_record(config: dict[str, Any], graph: Graph) -> dict[str, Any]:
    """What is needed to build the method that weights belong to, and which graph they were trained on."""
    return {"config": config, "shape": Shape.of(graph).to_json(), "graph_sha256": graph.training_view().fingerprint}


def calibration_record(assessment: Assessment) -> dict[str, Any]:
    """How logits become probabilities."""
    return {"calibration": assessment.calibration.to_json()}


def write_history(path: Path, history: Sequence[Record]) -> None:
    """One JSON object per epoch."""
    write_atomic(path, "".join(json.dumps(record) + "\n" for record in history).encode())


def write_label_errors(directory: RunDirectory, graph: Graph, assessment: Assessment) -> None:
    """Probable label errors and edges between different labels, most probable first."""
    write_atomic(directory.label_errors, table_bytes(label_error_table(graph, assessment)))
    write_atomic(directory.disagreeing_edges, table_bytes(disagreeing_edge_table(graph, assessment)))


def label_error_table(graph: Graph, assessment: Assessment) -> Columns:
    """Every training label, most probable error first."""
    labels, names = assessment.label_errors, graph.class_names
    return {
        "node": [graph.node_names[node] for node in labels.nodes.tolist()],
        "label": [names[c] for c in labels.given.tolist()],
        "suggested": [names[c] for c in labels.suggested.tolist()],
        "score": numbers(labels.score),
    }


def disagreeing_edge_table(graph: Graph, assessment: Assessment) -> Columns:
    """The edges that join what disagrees most."""
    edges, influence = assessment.disagreeing_edges.named(graph), assessment.disagreeing_edges.influence
    return {
        "node": [one for one, _, _ in edges],
        "neighbour": [other for _, other, _ in edges],
        "disagreement": numbers(assessment.disagreeing_edges.disagreement),
        **({} if influence is None else {"influence": numbers(influence)}),
    }


def measure(
    graph: Graph, prediction: Prediction, assessment: Assessment, held_out: Prediction | None
) -> dict[str, Any]:
    """Accuracy on the test nodes, how far the confidences can be trusted there, and what may be accepted."""
    found = {
        "test_accuracy": None,
        "held_out_accuracy": None if held_out is None else accuracy(held_out.logits[graph.train], graph.train_labels),
        "confidence": None,
        "calibrated": None,
        "calibration": assessment.calibration.to_json(),
        "decisions": [] if assessment.decision is None else [assessment.decision.as_record()],
    }
    nodes = graph.test
    if not len(nodes):
        return found
    labels, logits = graph.labels[nodes], prediction.logits[nodes]
    precision = None if prediction.precision is None else prediction.precision[nodes]
    return {
        **found,
        "test_accuracy": accuracy(logits, labels),
        "confidence": asdict(summarise_confidence(logits.softmax(-1), precision, labels)),
        "calibrated": asdict(summarise_confidence(assessment.probabilities[nodes], precision, labels)),
    }
