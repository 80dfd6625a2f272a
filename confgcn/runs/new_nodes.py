"""Predict nodes that were not in the graph of the training, with the weights of a run, and write the predictions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from confgcn.confidence.assessment import assess
from confgcn.data.extension import Extension, extend_graph
from confgcn.data.input_files import naming
from confgcn.data.raw import RawGraph
from confgcn.evaluation.metrics import accuracy
from confgcn.exceptions import UsageError
from confgcn.io.atomic_files import write_blocks
from confgcn.io.locks import locked_folder
from confgcn.models.base import Prediction
from confgcn.runs.directory import RunDirectory
from confgcn.runs.graph_input import GraphFiles, recorded_options
from confgcn.runs.predictions import prediction_blocks
from confgcn.runs.run import ExtendedFrom, Run, finite_prediction
from confgcn.runs.saved import load_run
from confgcn.runs.settings import DataSettings
from confgcn.runs.tables import csv_blocks, parquet_blocks

WRITERS = {".csv": csv_blocks, ".parquet": parquet_blocks}


def predict_new_nodes(run: Run, addition: RawGraph, *, update_existing: bool = False) -> Run:
    """Join the nodes and edges of ``addition`` to the graph of a run and predict the new nodes.

    Nodes of the training keep their label scores and precisions, and unless ``update_existing`` their features and
    their prediction. They are calibrated with the held-out labels of the training.
    """
    _check_unperturbed(run.settings.data)
    extension = extend_graph(run.graph, addition, update_features=update_existing)
    prepared = run.settings.data.prepare(
        extension.graph,
        seed=run.config["seed"],
        fitted_on=run.graph,
        choosing=extension.known[run.prepared.validation].sort().values,
    )
    prediction = finite_prediction(run.method.extend(prepared.training_view()), prepared)
    held_out = _with_rows(prediction, run.held_out or run.prediction, extension.known)
    certifying = extension.known[run.certifying_nodes]
    own = assess(
        prepared,
        _with_mean_precision(prediction, extension),
        extension.known[run.choosing_nodes],
        certifying=certifying,
        held_out=held_out,
        **run.settings.targets.model_dump(),
    )
    extended = ExtendedFrom(run, extension, own, update_existing)
    result = Run(
        run.config,
        run.settings,
        run.method,
        graph=extension.graph,
        history=lambda: run.history,
        metrics=lambda: run.metrics,
        held_out=None if run.held_out is None else held_out,
        extended=extended,
    )
    result.prepared, result.certifying_nodes = prepared, certifying
    result.prediction = prediction if update_existing else _with_rows(prediction, run.prediction, extension.known)
    result.assessment = extended.assessment
    return result


def _check_unperturbed(data: DataSettings) -> None:
    changed = ", ".join(data.perturbations)
    if changed:
        raise UsageError(f"the run was trained on a perturbed graph ({changed}): new nodes cannot be added to it")


def _with_mean_precision(prediction: Prediction, extension: Extension) -> Prediction:
    """The prediction to calibrate: new nodes have the mean precision of the others.

    Their own precision comes from a few steps instead of a training; a temperature that depends on the precision
    would misread it.
    """
    if prediction.precision is None or not len(extension.new):
        return prediction
    mean = prediction.precision[extension.known].mean(0).expand(len(extension.new), -1)
    return replace(prediction, precision=prediction.precision.index_copy(0, extension.new, mean))


def _with_rows(prediction: Prediction, rows: Prediction, places: Tensor) -> Prediction:
    """The prediction with other rows in these places, for every quantity that has a row per node."""
    changed = {}
    for name in ("logits", "mu", "precision", "evidence"):
        here, there = getattr(prediction, name), getattr(rows, name)
        if here is not None and there is not None:
            changed[name] = here.index_copy(0, places, there)
    return replace(prediction, **changed)


@dataclass(frozen=True)
class PredictionSummary:
    """What was written; ``accuracy`` is that of new nodes whose label was given, None where none was."""

    file: str
    rows: int
    new: int
    accuracy: float | None
    decisions: list[dict[str, Any]]
    notices: tuple[str, ...]


def write_predictions(
    path: Path,
    out: Path,
    files: GraphFiles | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    targets: Mapping[str, float | None] | None = None,
    update_existing: bool = False,
    overwrite: bool = False,
    data_dir: Path | None = None,
) -> PredictionSummary:
    """Predict the nodes that ``files`` join to the graph of a run, or its own nodes, and write one row per node.

    ``columns`` replaces options of the tables of the training, ``targets`` those of prediction sets and decisions.
    """
    _check_target(path, out, overwrite=overwrite)
    run = load_run(path, data_dir=data_dir).with_targets(**(targets or {}))
    nodes = None
    if files is not None:
        options = recorded_options(run.config, allow_edgeless=True, **(columns or {}))
        run = _extended(run, replace(files, options=options), update_existing=update_existing)
        nodes = None if run.extended is None or update_existing else run.extended.extension.listed
    with locked_folder(path) if out.parent.resolve() == path.resolve() else nullcontext():
        write_blocks(out, WRITERS[out.suffix](prediction_blocks(run, nodes)))
    return _summary(run, out, run.prepared.num_nodes if nodes is None else len(nodes))


def _extended(run: Run, files: GraphFiles, *, update_existing: bool) -> Run:
    addition = files.read_new(run.graph)
    with naming(files.nodes or files.main):
        return predict_new_nodes(run, addition, update_existing=update_existing)


def _summary(run: Run, out: Path, rows: int) -> PredictionSummary:
    decision, graph = run.assessment.decision, run.prepared
    decisions = [] if decision is None else [decision.as_record()]
    if run.extended is None:
        return PredictionSummary(str(out), rows, 0, None, decisions, ())
    known = graph.test  # of an extended graph: the new nodes whose label was given
    new_accuracy = accuracy(run.prediction.logits[known], graph.labels[known]) if len(known) else None
    return PredictionSummary(
        str(out), rows, len(run.extended.extension.new), new_accuracy, decisions, run.graph.reader_notices
    )


def _check_target(run: Path, out: Path, *, overwrite: bool) -> None:
    own = RunDirectory(run)
    if Path(os.path.realpath(out)).parent == Path(os.path.realpath(run)) and out.name != own.new_nodes.name:
        raise UsageError(f"--out {out}: in a run directory only {own.new_nodes.name} can be written")
    if out.suffix not in WRITERS:
        raise UsageError(f"--out {out}: expected a name that ends in {' or '.join(WRITERS)}")
    if out.exists() and not overwrite:
        raise UsageError(f"{out} exists already; give another --out, or --overwrite")
