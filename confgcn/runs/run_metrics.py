"""The numbers of a finished run: the content of metrics.json."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from confgcn.evaluation.metrics import accuracy, is_imbalanced
from confgcn.evaluation.scorecard import score_classes, summarise_confidence
from confgcn.runs.held_out import certify_metrics, held_out_record
from confgcn.runs.result_notices import result_notices
from confgcn.runs.run import Run
from confgcn.runs.search_record import NO_SEARCH
from confgcn.training.selection import Record


def training_metrics(
    run: Run,
    best: Record | None,
    *,
    by_features: Tensor | None,
    started: float,
    search: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The content of metrics.json.

    Args:
        best: the record of the selected epoch.
        by_features: the result of :func:`confgcn.runs.features_alone.features_alone`, to compare with.
        started: when the training started, by the monotonic clock.
        search: what a search found: see ``confgcn.runs.search_record``.
    """
    graph = run.prepared
    return {
        **_on_test_nodes(run),
        **_on_held_out_nodes(run, best),
        **certify_metrics(run),
        **_by_class(run),
        "held_out": held_out_record(run),
        "notices": result_notices(graph, run.prediction.logits, run.assessment.held_out, by_features),
        "calibration": run.assessment.calibration.to_json(),
        "decisions": [] if run.assessment.decision is None else [run.assessment.decision.as_record()],
        "graph_size": {
            "nodes": graph.num_nodes,
            "edges": (graph.adjacency.num_entries - graph.num_nodes) // 2,
            "features": graph.num_features,
            "classes": graph.num_classes,
            "train": len(graph.train),
            "validation": len(graph.validation) + len(run.certifying_nodes),
            "test": len(graph.test),
        },
        "cross_fitted": run.held_out is not None,
        **(search or NO_SEARCH),
        "best_epoch": best["epoch"] if best else None,
        "epochs": len(run.history),
        "seconds": round(time.monotonic() - started, 3),
        **run.config,
    }


def _on_test_nodes(run: Run) -> dict[str, Any]:
    """Accuracy and confidence; None without test nodes."""
    graph, nodes = run.prepared, run.prepared.test
    if not len(nodes):
        return {"test_accuracy": None, "raw": None, "calibrated": None}
    labels, logits = graph.labels[nodes], run.prediction.logits[nodes]
    precision = None if run.prediction.precision is None else run.prediction.precision[nodes]
    return {
        "test_accuracy": accuracy(logits, labels),
        "raw": asdict(summarise_confidence(logits.softmax(-1), precision, labels)),
        "calibrated": asdict(summarise_confidence(run.assessment.probabilities[nodes], precision, labels)),
    }


def _on_held_out_nodes(run: Run, best: Record | None) -> dict[str, float | None]:
    graph, held_out = run.prepared, run.held_out
    nodes = graph.validation
    if best is not None:
        validation_accuracy = best.get("validation_accuracy")
    else:
        validation_accuracy = accuracy(run.prediction.logits[nodes], graph.labels[nodes]) if len(nodes) else None
    return {
        "held_out_accuracy": None if held_out is None else accuracy(held_out.logits[graph.train], graph.train_labels),
        "validation_accuracy": validation_accuracy,
    }


def _by_class(run: Run) -> dict[str, float | bool | None]:
    """Balanced accuracy and ROC AUC of each evaluated split, and whether the classes of these are imbalanced."""
    graph, probabilities, held_out = run.prepared, run.assessment.probabilities, run.assessment.held_out
    splits = {"test": graph.test, "certify": run.certifying_nodes, "validation": graph.validation}
    evaluated = {name: (probabilities[nodes], graph.labels[nodes]) for name, nodes in splits.items()}
    crossed = slice(0 if run.held_out is None else len(held_out.labels))
    evaluated["held_out"] = held_out.probabilities[crossed], held_out.labels[crossed]
    numbers: dict[str, float | bool | None] = {
        f"{split}_{name}": value
        for split, (rows, labels) in evaluated.items()
        for name, value in score_classes(rows, labels).items()
    }
    labels = torch.cat([labels for _, labels in evaluated.values()])
    return {**numbers, "imbalanced": is_imbalanced(labels, graph.num_classes)}
