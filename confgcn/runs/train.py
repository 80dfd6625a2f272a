"""Train a method on a graph, once or over several seeds, into a run directory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from confgcn import kernels
from confgcn.evaluation.scorecard import CLASS_METRICS
from confgcn.exceptions import DivergedError, StoppedError
from confgcn.graph import Graph
from confgcn.io.signals import StopRequest, stop_request
from confgcn.io.threads import computing_with
from confgcn.report.formatting import held_out_text
from confgcn.runs import saved
from confgcn.runs.cross_validation import CrossFit, check_fittable, cross_fit, needs_cross_fitting
from confgcn.runs.directory import RunDirectory, claimed, free_directory, refuse_link
from confgcn.runs.features_alone import features_alone
from confgcn.runs.fitted import (
    WITHOUT_VALIDATION,
    Fitted,
    Notify,
    check_influence,
    check_memory_of_methods,
    fit_by_search,
    searches,
)
from confgcn.runs.held_out import held_out_record
from confgcn.runs.records import read_metrics
from confgcn.runs.request import RunRequest, run_config, settings_notices
from confgcn.runs.run import Run
from confgcn.runs.run_metrics import training_metrics
from confgcn.runs.search_files import SavedCandidates
from confgcn.runs.settings import RunSettings, make_method
from confgcn.training.callbacks import Callback
from confgcn.training.checkpoint import Checkpointer, StopOnSignal, resume_from
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded

CLASS_METRICS_OF_SPLITS = tuple(
    f"{split}_{name}" for split in ("test", "certify", "validation", "held_out") for name in CLASS_METRICS
)


def train(request: RunRequest, *, notify: Notify, callbacks: Sequence[Callback] = ()) -> dict[str, Any]:
    """Train every seed that is not finished yet; returns the summary over all of them."""
    settings = request.settings()
    graphs = graphs_of_runs(request)
    first = next(graphs)  # all input is checked before anything is written
    perturbed = settings.data.perturb(first, seed=request.seed)
    check_fittable(perturbed, settings)
    check_influence(settings, searching=searches(perturbed, settings))
    if kernels.active_name() == "pure":
        notify(f"kernels: {kernels.describe()}")
    check_memory_of_methods(first, settings)
    for notice in (*settings_notices(request, settings), *first.notices()):
        notify(notice)
    name = f"{request.graph_input.name}-{settings.method}-{settings.preset}"
    out = free_directory(Path("runs"), name) if request.out is None else Path(request.out)
    with (
        claimed(out, if_exists=request.if_exists) as lock_notices,
        resumable(out),
        stop_request() as stop,
        computing_with(request.threads),
    ):
        for notice in lock_notices:
            notify(notice)
        study = RunDirectory(out)
        if request.seeds > 1:
            kind = {"seeds": request.seeds, "fixed_split": request.fixed_split}
            study.start({**run_config(request), **kind})
            for damage in study.discard_damage():
                notify(f"{damage}; it is written again")
        results = []
        for run, graph in enumerate(chain([first], graphs)):
            config = run_config(request, run)
            directory = _member(out, request, run)
            copy = request.graph_input.needs_copy
            results.append(
                run_once(directory, graph, settings, config, copy=copy, stop=stop, notify=notify, callbacks=callbacks)
            )
        summary = summarise(results, out)
        if request.seeds > 1:
            study.finish(summary)
    return summary


def graphs_of_runs(request: RunRequest) -> Iterator[Graph]:
    """The graph of each run; files are read once, whatever the splits."""
    for split_seed, runs in groupby(map(request.split_seed_of, range(request.seeds))):
        graph = request.graph_input.load(split_seed)
        for _ in runs:
            yield graph


def make_loop(
    graph: Graph, settings: RunSettings, callbacks: Sequence[Callback] = (), *, seed: int = 0
) -> TrainingLoop:
    """A new method and the loop that trains it on the prepared graph.

    It draws the first random numbers of the run; ``seed`` seeds only experiments on a perturbed graph.
    """
    graph = settings.data.prepare(graph, seed=seed)
    return TrainingLoop(make_method(graph, settings), graph, settings.recipe, callbacks, device=settings.device)


def trained_loop(graph: Graph, settings: RunSettings, *, seed: int) -> TrainingLoop:
    """Train without writing anything."""
    with seeded(seed):
        loop = make_loop(graph, settings, seed=seed)
        loop.fit()
    return loop


def run_once(
    directory: RunDirectory,
    graph: Graph,
    settings: RunSettings,
    config: dict[str, Any],
    *,
    copy: bool = False,
    stop: StopRequest,
    notify: Notify,
    callbacks: Sequence[Callback],
) -> dict[str, Any]:
    """Train one seed, or resume it, and write its directory, metrics last; with a ``copy`` of the graph."""
    directory.start(config)
    notices = saved.record_environment(directory.environment, graph.fingerprint, graph.notices())
    for damage in directory.discard_damage():
        notify(f"{damage}; the run is trained again")
    if directory.finished:
        directory.clear_unfinished()  # left by a process that was killed when it had just written its metrics
        return read_metrics(directory.metrics)
    if copy:
        saved.write_graph_copy(directory, graph)
    for notice in notices:
        notify(notice)
    started, seed = time.monotonic(), config["seed"]
    prepared = settings.data.prepare(graph, seed=seed)
    stopping = [*callbacks, StopOnSignal(stop)]
    if searches(prepared, settings):
        saved_candidates = SavedCandidates(directory.search, notify)
        fitted = fit_by_search(prepared, settings, stopping, seed=seed, notify=notify, saved=saved_candidates)
    else:
        crossed = cross_fit_where_needed(prepared, settings, stopping, seed=seed, notify=notify)
        with seeded(seed):
            loop = _final_loop(prepared, settings, crossed, [*callbacks, Checkpointer(directory.checkpoints, stop)])
            for notice in resume_from(directory.checkpoints, loop):
                notify(notice)
            with _best_kept(directory, loop, config, graph):
                loop.fit()
        fitted = Fitted.of(loop, crossed)
    finished = _finished(graph, prepared, fitted, config, settings, started=started, notify=notify)
    saved.write_run(directory, finished)
    directory.clear_unfinished()
    return finished.metrics


def fit_in_memory(
    graph: Graph, settings: RunSettings, config: dict[str, Any], *, notify: Notify, callbacks: Sequence[Callback] = ()
) -> Run:
    """Train one seed without writing a file."""
    started, seed = time.monotonic(), config["seed"]
    prepared = settings.data.prepare(graph, seed=seed)
    check_fittable(prepared, settings)
    check_influence(settings, searching=searches(prepared, settings))
    check_memory_of_methods(prepared, settings)
    if searches(prepared, settings):
        fitted = fit_by_search(prepared, settings, callbacks, seed=seed, notify=notify)
    else:
        crossed = cross_fit_where_needed(prepared, settings, callbacks, seed=seed, notify=notify)
        with seeded(seed):
            loop = _final_loop(prepared, settings, crossed, callbacks)
            loop.fit()
        fitted = Fitted.of(loop, crossed)
    return _finished(graph, prepared, fitted, config, settings, started=started, notify=notify)


def _final_loop(
    prepared: Graph, settings: RunSettings, crossed: CrossFit | None, callbacks: Sequence[Callback]
) -> TrainingLoop:
    recipe = crossed.recipe if crossed else settings.recipe
    return TrainingLoop(make_method(prepared, settings), prepared, recipe, callbacks, device=settings.device)


def _finished(
    graph: Graph,
    prepared: Graph,
    fitted: Fitted,
    config: dict[str, Any],
    settings: RunSettings,
    *,
    started: float,
    notify: Notify,
) -> Run:
    """The run of a training that has ended, with its metrics; ``graph`` is as it was loaded."""
    run = Run(config, settings, fitted.method, graph=graph, history=fitted.history, held_out=fitted.held_out)
    run.prepared, run.prediction = prepared, fitted.prediction
    notify_held_out(run, notify)
    held_out_nodes = run.assessment.held_out.nodes if fitted.held_out is None else None
    by_features = features_alone(run.prepared, held_out_nodes, seed=config["seed"])
    run.metrics = training_metrics(run, fitted.best, by_features=by_features, started=started, search=fitted.record)
    return run


def notify_held_out(run: Run, notify: Notify) -> None:
    """A notice where no label was held out to calibrate with, or too few to certify as the settings request."""
    record = held_out_record(run)
    if record["case"] == "none":
        notify("no label was held out: probabilities are not calibrated, and there are no sets and no decision")
    if record["case"] == "too_few":
        notify(held_out_text(record))


def cross_fit_where_needed(
    graph: Graph, settings: RunSettings, callbacks: Sequence[Callback], *, seed: int, notify: Notify
) -> CrossFit | None:
    """Cross-fit where there are no validation nodes and the recipe needs them; else None."""
    if not needs_cross_fitting(graph, settings):
        return None
    notify(WITHOUT_VALIDATION)
    return cross_fit(graph, settings, callbacks, seed=seed)


def summarise(results: Sequence[dict[str, Any]], out: Path) -> dict[str, Any]:
    """Means and sample standard deviations over runs; the deviation of a single run is None."""
    first = results[0]
    return {
        "test_accuracy": _mean(results, "test_accuracy"),
        "test_accuracy_std": _std(results, "test_accuracy"),
        "held_out_accuracy": _mean(results, "held_out_accuracy"),
        "held_out_accuracy_std": _std(results, "held_out_accuracy"),
        "validation_accuracy": _mean(results, "validation_accuracy"),
        "certify_accuracy": _mean(results, "certify_accuracy"),
        "certify_accuracy_std": _std(results, "certify_accuracy"),
        "certify_log_loss": _mean(results, "certify_log_loss"),
        **{name: _mean(results, name) for name in CLASS_METRICS_OF_SPLITS},
        "imbalanced": any(result["imbalanced"] for result in results),
        "seconds": round(sum(result["seconds"] for result in results), 3),
        "seeds": len(results),
        **{key: first[key] for key in ("dataset", "method", "preset", "settings_of")},
        "run_dir": str(out),
        "runs": list(results),
    }


def _member(out: Path, request: RunRequest, run: int) -> RunDirectory:
    if request.seeds == 1:
        return RunDirectory(out)
    member = out / f"seed-{request.seed + run}"
    refuse_link(member)
    return RunDirectory(member)


@contextmanager
def resumable(out: Path) -> Iterator[None]:
    """Add to the error of a stopped training how to resume it."""
    try:
        yield
    except StoppedError as error:
        message = f"{error}. To continue, repeat the command with --out {out} --resume, without --overwrite"
        raise StoppedError(message, error.signal_number) from None


@contextmanager
def _best_kept(directory: RunDirectory, loop: TrainingLoop, config: dict[str, Any], graph: Graph) -> Iterator[None]:
    """When training diverges, save the best weights so far and name their file in the error."""
    try:
        yield
    except DivergedError as error:
        if loop.best is None:
            raise
        loop.method.load_state_dict(loop.best_weights)
        stem = directory.best_before_divergence
        saved.write_model(stem, loop.method, saved.model_record(config, graph))
        raise DivergedError(f"{error}. The weights of epoch {loop.best['epoch']} are kept in {stem}.*") from None


def _mean(results: Sequence[dict[str, Any]], key: str) -> float | None:
    values = [result[key] for result in results]
    return None if None in values else statistics.fmean(values)


def _std(results: Sequence[dict[str, Any]], key: str) -> float | None:
    values = [result[key] for result in results]
    return None if None in values or len(values) < 2 else statistics.stdev(values)
