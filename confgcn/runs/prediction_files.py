"""The predictions of a finished run as a table: of its own nodes, or of new ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from confgcn.data.formats.parquet import parquet_bytes
from confgcn.data.input_files import naming
from confgcn.evaluation.metrics import accuracy
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_atomic, write_blocks
from confgcn.io.locks import locked_folder
from confgcn.runs.csv_table import Columns, csv_blocks
from confgcn.runs.directory import RunDirectory
from confgcn.runs.graph_input import GraphFiles, recorded_options
from confgcn.runs.new_nodes import ExtendedRun, predict_new_nodes
from confgcn.runs.prediction_table import ROWS_AT_ONCE, prediction_blocks, prediction_table
from confgcn.runs.saved import SavedRun, graph_of, load_run

SUFFIXES = (".csv", ".parquet")
TEXTS = ("node", "label", "set", "accepted", "top_neighbour", "split")  # columns that are no numbers


@dataclass(frozen=True)
class PredictionSummary:
    """What was predicted; ``accuracy`` is that of new nodes whose label was given, None where none was."""

    file: str
    rows: int
    new: int
    accuracy: float | None
    decision: dict[str, Any] | None
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
        tables, summary = _own(run, graph)
    else:
        options = recorded_options(run.config, allow_edgeless=True, **(columns or {}))
        tables, summary = _new(run, graph, replace(files, options=options), update_existing=update_existing)
    with locked_folder(path) if out.parent.resolve() == path.resolve() else nullcontext():
        _write(out, tables)
    return PredictionSummary(file=str(out), **summary)


def _own(run: SavedRun, graph: Graph) -> tuple[Iterator[Columns], dict[str, Any]]:
    prepared, prediction, assessment = run.assessed(graph)
    decision = None if assessment.decision is None else assessment.decision.as_record()
    summary = {"rows": graph.num_nodes, "new": 0, "accuracy": None, "decision": decision, "notices": ()}
    return prediction_blocks(prepared, prediction, assessment), summary


def _new(
    run: SavedRun, graph: Graph, files: GraphFiles, *, update_existing: bool
) -> tuple[Iterator[Columns], dict[str, Any]]:
    addition = files.read_new(graph)
    with naming(files.nodes or files.main):
        found = predict_new_nodes(run, graph, addition, update_existing=update_existing)
    extension, test = found.extension, found.prepared.test
    nodes = torch.arange(found.prepared.num_nodes) if update_existing else extension.listed
    known = accuracy(found.prediction.logits[test], found.prepared.labels[test]) if len(test) else None
    decision = None if found.assessment.decision is None else found.assessment.decision.as_record()
    counts = {"rows": len(nodes), "new": len(extension.new)}
    summary = {**counts, "accuracy": known, "decision": decision, "notices": extension.graph.reader_notices}
    return _extended_blocks(found, nodes, update_existing=update_existing), summary


def _extended_blocks(found: ExtendedRun, nodes: Tensor, *, update_existing: bool) -> Iterator[Columns]:
    """The rows of these nodes; of those that were there, what was said of them unless they are to be updated."""
    earlier = torch.full((found.prepared.num_nodes,), -1)
    earlier[found.extension.known] = torch.arange(len(found.extension.known))
    for some in nodes.split(ROWS_AT_ONCE):
        table = prediction_table(found.prepared, found.prediction, found.assessment, some)
        if not update_existing:
            places = (earlier[some] >= 0).nonzero().squeeze(1)
            _put_rows(table, prediction_table(*found.before, earlier[some[places]]), places.tolist())
        is_new = torch.isin(some, found.extension.new).tolist()
        yield {**table, "is_new": ["yes" if new else "no" for new in is_new]}


def _put_rows(table: Columns, rows: Columns, places: Sequence[int]) -> None:
    """What was said of nodes that were there, in their places."""
    for name, column in rows.items():
        for place, text in zip(places, column, strict=True):
            table[name][place] = text


def _write(out: Path, tables: Iterable[Columns]) -> None:
    if out.suffix == ".csv":
        write_blocks(out, csv_blocks(tables))
    else:
        write_atomic(out, parquet_bytes(_typed(tables)))


def _typed(tables: Iterable[Columns]) -> dict[str, Any]:
    """One table of texts and of numbers, None where a cell is blank."""
    typed: dict[str, list[Any]] = {}
    for columns in tables:
        for name, column in columns.items():
            is_text = name in (*TEXTS, "is_new")
            typed.setdefault(name, []).extend(column if is_text else (float(t) if t else None for t in column))
    return typed


def _check_target(run: Path, out: Path, *, overwrite: bool) -> None:
    own = RunDirectory(run)
    if Path(os.path.realpath(out)).parent == Path(os.path.realpath(run)) and out.name != own.new_nodes.name:
        raise UsageError(f"--out {out}: only {own.new_nodes.name} is kept in a run directory beside its own files")
    if out.suffix not in SUFFIXES:
        raise UsageError(f"--out {out}: expected a name that ends in {' or '.join(SUFFIXES)}")
    if out.exists() and not overwrite:
        raise UsageError(f"{out} exists already; give another --out, or --overwrite")
