"""The numbers behind the page of one run, and the page: what ``confgcn report`` writes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from confgcn.data.input_files import naming
from confgcn.data.statistics import describe
from confgcn.evaluation.scorecard import METRICS
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_atomic
from confgcn.io.locks import locked_folder
from confgcn.report.page import render
from confgcn.runs.directory import RunDirectory
from confgcn.runs.evaluate import CALIBRATED, curves, scores
from confgcn.runs.reported_nodes import collect_nodes
from confgcn.runs.run_records import read_environment, read_history, read_metrics
from confgcn.runs.run_tables import Findings
from confgcn.runs.saved import Judged, SavedRun, graph_of, load_run


def write_report(path: Path, *, out: Path | None = None, data_dir: Path | None = None) -> tuple[Path, list[str]]:
    """Write the page of a finished run, into its directory unless told otherwise; the file, and notices."""
    directory = RunDirectory(path)
    run, judged, measured = judged_run(path, data_dir=data_dir)
    page, left_out = render(collect(run, judged, measured, directory))
    if out is not None:  # then the directory may be one that nobody can write to
        write_atomic(out, page)
        return out, left_out
    with locked_folder(path) as left_behind:
        write_atomic(directory.report, page)
    return directory.report, [*left_out, *left_behind]


def judged_run(path: Path, *, data_dir: Path | None = None) -> tuple[SavedRun, Judged, Judged]:
    """The run of a directory, what it says of every node of its graph, and what can be measured of that."""
    run = load_run(path)
    graph = graph_of(path, run, data_dir=data_dir)
    with naming(path):
        judged, measured = run.judge(graph), run.measurable(graph)
    nodes = measured.nodes if len(measured.nodes) else judged.graph.validation
    return run, judged, replace(measured, nodes=nodes[measured.graph.labels[nodes] >= 0])


def collect(run: SavedRun, judged: Judged, measured: Judged, directory: RunDirectory) -> dict[str, Any]:
    """All numbers of the page, as JSON can hold them; ``measured`` are those on labels that were not trained on."""
    metrics = read_metrics(directory.metrics)
    history = read_history(directory.history)
    findings = Findings.read(directory)
    return {
        "about": _about(run, judged.graph, metrics, directory),
        "classes": list(judged.graph.class_names),
        "data": _data(judged, directory.environment),
        "quality": _quality(run, measured),
        "training": {"history": history, "selected": metrics.get("best_epoch")},
        **collect_nodes(judged, findings),
    }


def _about(run: SavedRun, graph: Graph, metrics: dict[str, Any], directory: RunDirectory) -> dict[str, Any]:
    environment = read_environment(directory.environment)
    return {
        "graph": graph.name,
        "method": run.config["method"],
        "preset": run.config["preset"],
        "seed": run.config["seed"],
        "date": datetime.fromtimestamp(directory.metrics.stat().st_mtime, tz=UTC).date().isoformat(),
        "version": environment["versions"].get("confgcn", "unknown"),
        "predicted": graph.num_nodes - len(graph.train),
        "training_labels": len(graph.train),
        "decisions": metrics["decisions"],
        "cross_fitted": bool(metrics.get("cross_fitted")),
        "calibration": run.calibration.name,
    }


def _data(judged: Judged, environment: Path) -> dict[str, Any]:
    graph, found = judged.graph, describe(judged.graph)
    predicted = torch.bincount(judged.prediction.logits.argmax(-1), minlength=graph.num_classes)
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
        "notices": read_environment(environment)["notices"],
    }


def _quality(run: SavedRun, measured: Judged) -> dict[str, Any] | None:
    """How good the labels and the probabilities are, where that is known."""
    if not len(measured.nodes):
        return None
    found = scores(run.method, measured)
    is_selection = torch.equal(measured.nodes, measured.graph.validation)
    return {
        "measured_on": "validation nodes" if is_selection else measured.measured_on,
        "is_selection": is_selection,
        "count": len(measured.nodes),
        "scores": {name: found[CALIBRATED + name] for name in METRICS},
        "raw": {name: found[name] for name in METRICS},
        "curves": curves(measured),
        "confusion": _confusion(measured),
    }


def _confusion(measured: Judged) -> list[list[int]]:
    """How many nodes of each class (rows) are said to be of which (columns)."""
    count, nodes = measured.graph.num_classes, measured.nodes
    pairs = measured.graph.labels[nodes] * count + measured.prediction.logits[nodes].argmax(-1)
    rows: list[list[int]] = torch.bincount(pairs, minlength=count * count).view(count, count).tolist()
    return rows
