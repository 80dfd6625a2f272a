"""What a run leaves behind: environment, history, predictions, model, metrics."""

from __future__ import annotations

import csv
import io
import json
import platform
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from confgcn import kernels
from confgcn.evaluation.accuracy import accuracy
from confgcn.evaluation.confidence import summarise_confidence
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.graph import Graph
from confgcn.method import AbstractMethod, Prediction, Shape
from confgcn.training.files import read_json, to_json, write_atomic, write_tensors
from confgcn.training.loop import TrainingLoop
from confgcn.training.run_directory import flattened

LIBRARIES = ("confgcn", "torch", "numpy", "scipy", "safetensors")


def software() -> dict[str, Any]:
    """What a result's bits can depend on, of all that is installed."""
    return {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "kernels": kernels.active_name(),
    }


def record_environment(path: Path, graph: Graph) -> list[str]:
    """Write versions, threads and the hash of the input, or compare them with those a run began with.

    Another graph is an error; returns a notice for everything else that a result's bits can depend on.
    """
    now = {
        **software(),
        "platform": platform.platform(),
        "threads": torch.get_num_threads(),
        "graph_sha256": graph.fingerprint,
        "notices": graph.notices(),
    }
    if not path.is_file():
        write_atomic(path, to_json(now))
        return []
    recorded, current = flattened(read_json(path)), flattened(now)
    if recorded.get("graph_sha256") != graph.fingerprint:
        raise DataError(f"{path.parent}: cannot resume, the run began with another graph")
    return [
        f"{key} was {recorded.get(key)!r} when the run began, now {value!r}: the result may differ in its last bits"
        for key, value in current.items()
        if recorded.get(key) != value
    ]


def write_model(stem: Path, method: AbstractMethod, config: dict[str, Any], graph: Graph) -> None:
    """Weights, what is needed to build the method they belong to, and which graph they were trained on."""
    trained_on = {"shape": asdict(Shape.of(graph)), "graph_sha256": graph.training_view().fingerprint}
    write_tensors(stem, method.state_dict(), {"config": config, **trained_on})


def read_metrics(path: Path) -> dict[str, Any]:
    """The metrics of a finished run."""
    metrics = read_json(path)
    accuracies = [metrics.get(key, "missing") for key in ("test_accuracy", "validation_accuracy")]
    are_numbers = all(isinstance(value, float | int | None) for value in accuracies)
    if not are_numbers or not isinstance(metrics.get("seconds"), float | int) or "confidence" not in metrics:
        raise CorruptFileError(f"{path}: corrupt, these are not the metrics of a run")
    return metrics


def write_history(path: Path, loop: TrainingLoop) -> None:
    """One JSON object per epoch."""
    write_atomic(path, "".join(json.dumps(record) + "\n" for record in loop.history).encode())


def write_predictions(path: Path, graph: Graph, prediction: Prediction) -> None:
    """One row per node: name, predicted label, its probability, mu and precision per label, part of the split."""
    probability, label = prediction.probabilities.max(-1)
    columns: dict[str, list[Any]] = {
        "node": list(graph.node_names),
        "label": [graph.class_names[c] for c in label.tolist()],
        "probability": _numbers(probability),
    }
    for quantity in ("mu", "precision"):
        values = getattr(prediction, quantity)
        if values is not None:
            values = values.clamp(min=0.0) if quantity == "precision" else values
            names = [f"{quantity}_{name}" for name in graph.class_names]
            columns |= {name: _numbers(column) for name, column in zip(names, values.T, strict=True)}
    columns["split"] = list(graph.split_names())
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_atomic(path, stream.getvalue().encode())


def measure(graph: Graph, prediction: Prediction) -> dict[str, Any]:
    """Accuracy on the test nodes and how far the confidences can be trusted there."""
    nodes = graph.test
    if not len(nodes):
        return {"test_accuracy": None, "confidence": None}
    labels = graph.labels[nodes]
    precision = None if prediction.precision is None else prediction.precision[nodes]
    return {
        "test_accuracy": accuracy(prediction.logits[nodes], labels),
        "confidence": asdict(summarise_confidence(prediction.probabilities[nodes], precision, labels)),
    }


def _numbers(values: torch.Tensor) -> list[str]:
    return [format(value, ".9g") for value in values.tolist()]  # nine digits give a float32 back exactly
