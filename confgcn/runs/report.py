"""The report of a run: collect its numbers and write the page of ``confgcn report``."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from confgcn.data.statistics import describe
from confgcn.evaluation.scorecard import METRICS
from confgcn.io.atomic_files import write_atomic
from confgcn.io.locks import locked_folder
from confgcn.report.page import render
from confgcn.runs.directory import RunDirectory
from confgcn.runs.evaluate import CALIBRATED, EvaluatedNodes, curves, evaluated_nodes, scores
from confgcn.runs.report_nodes import collect_nodes
from confgcn.runs.run import Run
from confgcn.runs.run_records import read_environment
from confgcn.runs.saved import load_run


def write_report(path: Path, *, out: Path | None = None, data_dir: Path | None = None) -> tuple[Path, list[str]]:
    """Write the page of a finished run, by default into its directory; returns the file and notices."""
    directory = RunDirectory(path)
    page, left_out = render(collect(load_run(path, data_dir=data_dir), directory))
    if out is not None:  # the run directory may be read-only
        write_atomic(out, page)
        return out, left_out
    with locked_folder(path) as left_behind:
        write_atomic(directory.report, page)
    return directory.report, [*left_out, *left_behind]


def collect(run: Run, directory: RunDirectory) -> dict[str, Any]:
    """All numbers of the page, as JSON can hold them."""
    metrics, environment = run.metrics, read_environment(directory.environment)
    return {
        "about": _about(run, environment, directory),
        "classes": list(run.prepared.class_names),
        "data": {**_data(run), "notices": environment["notices"]},
        "quality": _quality(run),
        "training": {"history": run.history, "selected": metrics["best_epoch"]},
        **collect_nodes(run),
    }


def _about(run: Run, environment: dict[str, Any], directory: RunDirectory) -> dict[str, Any]:
    graph = run.prepared
    return {
        "graph": graph.name,
        "method": run.config["method"],
        "preset": run.config["preset"],
        "seed": run.config["seed"],
        "date": datetime.fromtimestamp(directory.metrics.stat().st_mtime, tz=UTC).date().isoformat(),
        "version": environment["versions"].get("confgcn", "unknown"),
        "predicted": graph.num_nodes - len(graph.train),
        "training_labels": len(graph.train),
        "targets": run.settings.targets.model_dump(),
        "decisions": run.metrics["decisions"],
        "cross_fitted": run.held_out is not None,
        "calibration": run.calibration.name,
    }


def _data(run: Run) -> dict[str, Any]:
    graph, found = run.prepared, describe(run.prepared)
    predicted = torch.bincount(run.prediction.logits.argmax(-1), minlength=graph.num_classes)
    return {
        **{key: getattr(found, key) for key in ("nodes", "features", "isolated_nodes", "components", "label_rate")},
        "edges": found.edges.unique,
        "split": found.split,
        "homophily": found.edge_homophily,
        "degree": found.degree,
        "components_without_label": found.components_without_training_label,
        "nodes_without_label": found.nodes_without_training_label_in_reach,
        "training_labels": torch.bincount(graph.train_labels, minlength=graph.num_classes).tolist(),
        "predicted": predicted.tolist(),
    }


def _quality(run: Run) -> dict[str, Any] | None:
    """How good labels and probabilities are on nodes that were not trained on; None where there are none."""
    on, is_selection = evaluated_nodes(run), False
    if not len(on.nodes):
        on, is_selection = replace(on, nodes=run.prepared.validation, evaluated_on="validation nodes"), True
    on = replace(on, nodes=on.nodes[on.graph.labels[on.nodes] >= 0])
    if not len(on.nodes):
        return None
    found = scores(run.method, on)
    return {
        "evaluated_on": on.evaluated_on,
        "is_selection": is_selection,
        "count": len(on.nodes),
        "scores": {name: found[CALIBRATED + name] for name in METRICS},
        "raw": {name: found[name] for name in METRICS},
        "curves": curves(on),
        "confusion": _confusion(on),
    }


def _confusion(on: EvaluatedNodes) -> list[list[int]]:
    """How many nodes of each class (rows) are predicted to be of which (columns)."""
    count = on.graph.num_classes
    pairs = on.graph.labels[on.nodes] * count + on.prediction.logits[on.nodes].argmax(-1)
    rows: list[list[int]] = torch.bincount(pairs, minlength=count * count).view(count, count).tolist()
    return rows
