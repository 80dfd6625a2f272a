"""The report of a run: collect its numbers and write the page of ``confgcn report``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from confgcn.data.statistics import describe
from confgcn.evaluation.scorecard import CLASS_METRICS, METRICS
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_atomic
from confgcn.io.locks import locked_folder
from confgcn.report.page import render
from confgcn.runs.directory import RunDirectory
from confgcn.runs.evaluate import CALIBRATED, EvaluatedNodes, class_scores, curves, evaluated_nodes, scores
from confgcn.runs.held_out import held_out_record
from confgcn.runs.predictions import COLUMNS, SPLITS, disagreeing_edges_table, label_errors_table
from confgcn.runs.records import read_environment
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run
from confgcn.runs.search_record import NO_SEARCH
from confgcn.runs.tables import Columns

MOST_NODES = 20_000  # that the explorer can show: as many as a page of ten classes has room for
TABLE_ROWS = 20


def write_report(path: Path, *, out: Path | None = None, data_dir: Path | None = None) -> tuple[Path, list[str]]:
    """Write the page of a finished run, by default into its directory; returns the file and notices."""
    directory = RunDirectory(path)
    page, left_out = render(collect(load_run(path, data_dir=data_dir), directory))
    if out is not None:  # the run directory may be read-only
        write_atomic(out, page)
        return out, left_out
    with locked_folder(path) as lock_notices:
        write_atomic(directory.report, page)
    return directory.report, [*left_out, *lock_notices]


def collect(run: Run, directory: RunDirectory) -> dict[str, Any]:
    """All numbers of the page, as JSON can hold them."""
    metrics, environment = run.metrics, read_environment(directory.environment)
    return {
        "about": _about(run, environment, directory),
        "classes": list(run.prepared.class_names),
        "data": {**_data(run), "notices": environment["notices"]},
        "quality": _quality(run),
        "search": {name: metrics[name] for name in NO_SEARCH},
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
        "decisions": run.metrics["decisions"],
        "held_out": held_out_record(run),
        "notices": run.metrics["notices"],
        "calibration": run.calibration.name,
    }


def _data(run: Run) -> dict[str, Any]:
    graph, statistics = run.prepared, describe(run.prepared)
    predicted = torch.bincount(run.prediction.logits.argmax(-1), minlength=graph.num_classes)
    return {
        **{
            key: getattr(statistics, key) for key in ("nodes", "features", "isolated_nodes", "components", "label_rate")
        },
        "edges": statistics.edges.unique,
        "split": {**statistics.split, "validation": statistics.split["validation"] + len(run.certifying_nodes)},
        "homophily": statistics.edge_homophily,
        "degree": statistics.degree,
        "components_without_label": statistics.components_without_training_label,
        "nodes_without_label": statistics.nodes_without_training_label_in_reach,
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
    by_class = class_scores(on)
    values: dict[str, Any] = {**scores(run.method, on), **by_class}
    return {
        "evaluated_on": on.evaluated_on,
        "is_selection": is_selection,
        "count": len(on.nodes),
        "imbalanced": by_class["imbalanced"],
        "scores": {name: values[CALIBRATED + name] for name in (*METRICS, *CLASS_METRICS)},
        "raw": {name: values[name] for name in (*METRICS, *CLASS_METRICS)},
        "curves": curves(on),
        "confusion": _confusion(on),
    }


def _confusion(on: EvaluatedNodes) -> list[list[int]]:
    """How many nodes of each class (rows) are predicted to be of which (columns)."""
    count = on.graph.num_classes
    pairs = on.graph.labels[on.nodes] * count + on.prediction.logits[on.nodes].argmax(-1)
    rows: list[list[int]] = torch.bincount(pairs, minlength=count * count).view(count, count).tolist()
    return rows


def collect_nodes(run: Run) -> dict[str, Any]:
    """``nodes`` and ``neighbours`` of the shown nodes by their place among these, and ``tables`` of such places."""
    graph = run.prepared
    most, least = _by_confidence(run)
    named = {name: node for node, name in enumerate(graph.node_names)}
    labels, edges = _rows(label_errors_table(run, TABLE_ROWS)), _rows(disagreeing_edges_table(run, TABLE_ROWS))
    listed = [named[row["node"]] for row in labels] + [named[row[end]] for row in edges for end in _ENDS]
    rank = _breadth_first_rank(graph, list(dict.fromkeys([*least, *most, *listed])))
    shown = (rank < MOST_NODES).nonzero().squeeze(1)
    places = torch.full((graph.num_nodes,), -1).index_copy(0, shown, torch.arange(len(shown)))
    place_of = {name: int(places[node]) for name, node in named.items() if places[node] >= 0}
    return {
        "nodes": {**_nodes(run, shown), "rank": rank[shown].tolist()},
        "facts": [{"name": c.name, "title": c.title, "is_share": c.is_share} for c in COLUMNS if c.in_explorer],
        "splits": [name or "none" for name in SPLITS],
        "neighbours": _neighbours(run, shown, places),
        "tables": {
            "most_confident": places[most].tolist(),
            "least_confident": places[least].tolist(),
            "labels": [{**row, "place": place_of.get(row["node"])} for row in labels],
            "num_label_errors": int((run.assessment.label_errors.score > 0).sum()),
            "edges": [
                {**row, "place": place_of.get(row["node"]), "other": place_of.get(row["neighbour"])} for row in edges
            ],
        },
    }


_ENDS = ("node", "neighbour")


def _rows(table: Columns) -> list[dict[str, Any]]:
    columns = [column if isinstance(column, list) else column.tolist() for column in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def _by_confidence(run: Run) -> tuple[list[int], list[int]]:
    """The nodes without a given label that were predicted with the most and with the least confidence."""
    is_candidate = torch.ones(run.prepared.num_nodes, dtype=torch.bool).index_fill_(0, run.prepared.train, False)
    nodes = is_candidate.nonzero().squeeze(1)
    label = run.prediction.logits[nodes].argmax(-1, keepdim=True)
    confidence = run.probabilities[nodes].gather(1, label).squeeze(1)
    order = nodes[torch.argsort(confidence, stable=True)].tolist()
    return order[::-1][:TABLE_ROWS], order[:TABLE_ROWS]


def _breadth_first_rank(graph: Graph, first: Sequence[int]) -> Tensor:
    """The rank of each node in a breadth-first search from these; unreached nodes follow in their order, (N,)."""
    rank = torch.full((graph.num_nodes,), -1)
    frontier, count = torch.tensor(first, dtype=torch.long), 0
    while len(frontier):
        rank[frontier] = torch.arange(count, count + len(frontier))
        count += len(frontier)
        reached = graph.adjacency.at_rows(frontier)[0].indices.unique()
        frontier = reached[rank[reached] < 0]
    rest = (rank < 0).nonzero().squeeze(1)
    rank[rest] = torch.arange(count, graph.num_nodes)
    return rank


def _nodes(run: Run, shown: Tensor) -> dict[str, Any]:
    graph, influence = run.prepared, run.prediction.influence
    columns = {column.key: column.plain_values(run, shown) for column in COLUMNS}
    is_loop = graph.adjacency.rows == graph.adjacency.indices
    return {
        **columns,
        "label_error_score": None,  # blank but for training labels, which the table of label errors lists
        "set": None if run.assessment.sets is None else columns["set"],
        "accepted": None if run.assessment.decision is None else columns["accepted"],
        "known_label": graph.labels[shown].tolist(),
        "degree": graph.degrees[shown].tolist(),
        "self_influence": None if influence is None else influence[is_loop][shown].tolist(),
    }


def _neighbours(run: Run, shown: Tensor, places: Tensor) -> dict[str, Any]:
    """The shown neighbours of each shown node, those of the largest influence first: ``start`` (n + 1,), ``node``."""
    edges, where = run.prepared.adjacency.without_diagonal
    influence = run.prediction.influence
    weight = None if influence is None else influence[where]
    order = torch.arange(len(edges.indices)) if weight is None else torch.argsort(weight, descending=True, stable=True)
    order = order[torch.argsort(edges.rows[order], stable=True)]
    order = order[(places[edges.rows[order]] >= 0) & (places[edges.indices[order]] >= 0)]
    counts = torch.bincount(places[edges.rows[order]], minlength=len(shown))
    return {
        "start": [0, *counts.cumsum(0).tolist()],
        "node": places[edges.indices[order]].tolist(),
        "influence": None if weight is None else weight[order].tolist(),
    }
