"""The predictions of a finished run as a table: of its own nodes, or of new ones."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confgcn.data.input_files import naming
from confgcn.data.parquet import parquet_bytes
from confgcn.evaluation.accuracy import accuracy
from confgcn.exceptions import UsageError
from confgcn.experiments.graph_source import GraphFiles, recorded_options
from confgcn.experiments.new_nodes import predict_new_nodes
from confgcn.experiments.outputs import Columns, prediction_table, table_bytes
from confgcn.experiments.saved_run import SavedRun, graph_of, load_run
from confgcn.files import write_atomic
from confgcn.graph import Graph
from confgcn.training.run_directory import RunDirectory, held

SUFFIXES = (".csv", ".parquet")
TEXTS = ("node", "label", "set", "accepted", "heard_most", "split")  # columns that are no numbers


@dataclass(frozen=True)
class PredictionSummary:
    """What was predicted; ``accuracy`` is that of new nodes whose label was given, None where none was."""

    file: str
    rows: int
    new: int
    accuracy: float | None
    decision: str | None
    notices: tuple[str, ...]


def write_new_predictions(
    path: Path,
    out: Path,
    files: GraphFiles | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    update_existing: bool = False,
    overwrite: bool = False,
    data_dir: Path | None = None,
) -> PredictionSummary:
    """Predict what ``files`` join to the graph of a run, or the graph alone, and write one row per node.

    ``columns`` replaces options of the tables that were given at training.
    """
    _check_target(path, out, overwrite=overwrite)
    run = load_run(path)
    graph = graph_of(path, run, data_dir=data_dir)
    if files is None:
        table, summary = _own(run, graph)
    else:
        options = recorded_options(run.config, allow_edgeless=True, **(columns or {}))
        table, summary = _new(run, graph, replace(files, options=options), update_existing=update_existing)
    with held(path) if out.parent.resolve() == path.resolve() else nullcontext():
        write_atomic(out, _content(table, out.suffix))
    return PredictionSummary(file=str(out), rows=len(table["node"]), **summary)


def _own(run: SavedRun, graph: Graph) -> tuple[Columns, dict[str, Any]]:
    prepared, prediction, assessment = run.assessed(graph)
    decision = None if assessment.decision is None else assessment.decision.message()
    summary = {"new": 0, "accuracy": None, "decision": decision, "notices": ()}
    return prediction_table(prepared, prediction, assessment), summary


def _new(run: SavedRun, graph: Graph, files: GraphFiles, *, update_existing: bool) -> tuple[Columns, dict[str, Any]]:
    addition = files.read_new(graph)
    with naming(files.nodes or files.main):
        found = predict_new_nodes(run, graph, addition, update_existing=update_existing)
    extension, test = found.extension, found.prepared.test
    table = prediction_table(found.prepared, found.prediction, found.assessment)
    if not update_existing:
        _put_rows(table, prediction_table(*found.before), extension.known.tolist())
    is_new = set(extension.new.tolist())
    table["is_new"] = ["yes" if node in is_new else "no" for node in range(found.prepared.num_nodes)]
    rows = extension.listed.tolist() if not update_existing else range(found.prepared.num_nodes)
    known = accuracy(found.prediction.logits[test], found.prepared.labels[test]) if len(test) else None
    decision = None if found.assessment.decision is None else found.assessment.decision.message()
    summary = {"new": len(is_new), "accuracy": known, "decision": decision, "notices": extension.graph.remarks}
    return _chosen(table, rows), summary


def _put_rows(table: Columns, rows: Columns, places: Sequence[int]) -> None:
    """What was said of nodes that were there, in their places."""
    for name, column in rows.items():
        for place, text in zip(places, column, strict=True):
            table[name][place] = text


def _chosen(table: Columns, rows: Sequence[int]) -> Columns:
    return {name: [column[row] for row in rows] for name, column in table.items()}


def _content(columns: Columns, suffix: str) -> bytes:
    if suffix == ".csv":
        return table_bytes(columns)
    typed: dict[str, Any] = {
        name: column if name in (*TEXTS, "is_new") else [float(text) if text else None for text in column]
        for name, column in columns.items()
    }
    return parquet_bytes(typed)


def _check_target(run: Path, out: Path, *, overwrite: bool) -> None:
    own = RunDirectory(run)
    if Path(os.path.realpath(out)).parent == Path(os.path.realpath(run)) and out.name != own.new_nodes.name:
        raise UsageError(f"--out {out}: only {own.new_nodes.name} is kept in a run directory beside its own files")
    if out.suffix not in SUFFIXES:
        raise UsageError(f"--out {out}: expected a name that ends in {' or '.join(SUFFIXES)}")
    if out.exists() and not overwrite:
        raise UsageError(f"{out} exists already; give another --out, or --overwrite")
