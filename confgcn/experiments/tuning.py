"""Search settings on validation accuracy, resumable: every finished trial is kept in a database."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confgcn.exceptions import DivergedError, ResourceError, UsageError
from confgcn.experiments.presets import resolve
from confgcn.experiments.runs import Notify, RunRequest, graph_of_run, trained_loop
from confgcn.toml import read_toml
from confgcn.training.threads import computing_with

if TYPE_CHECKING:
    import optuna

SAMPLER_SEED = 0


def search(request: RunRequest, *, space: Path, storage: Path, trials: int, notify: Notify) -> dict[str, Any]:
    """Try settings from ``space`` until the study holds ``trials`` trials; returns the best.

    A space of lists alone is a grid: each combination is tried once, and there are no more trials than that.
    """
    ranges = read_toml(space)
    if _is_grid(ranges):
        trials = min(trials, math.prod(len(choices) for choices in ranges.values()))
    study = _open_study(request, ranges, storage)
    left = trials - sum(trial.value is not None for trial in study.trials)
    with computing_with(request.threads):
        study.optimize(
            lambda trial: validation_accuracy(replace(request, overrides=_suggest(trial, ranges))),
            n_trials=max(0, left),
            callbacks=[lambda study, trial: notify(_progress(study, trial))],
        )
    return {"validation_accuracy": study.best_value, "trials": trials, "settings": study.best_params}


def _progress(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> str:
    return f"trial {trial.number}: {trial.value:.4f}, best {study.best_value:.4f}"


def _open_study(request: RunRequest, ranges: dict[str, Any], storage: Path) -> optuna.Study:
    try:
        import optuna
    except ImportError:
        raise ResourceError("tuning needs optuna: pip install 'confgcn[tune]'") from None
    if not storage.absolute().parent.is_dir():
        raise ResourceError(f"no such folder for the study: {storage.absolute().parent}")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    name = _study_name(request, ranges)
    study = optuna.create_study(
        study_name=name, storage=f"sqlite:///{storage}", direction="maximize", load_if_exists=True
    )
    # A sampler starts its stream anew in every process: the seed moves on, or a resumed search would repeat itself.
    seed = SAMPLER_SEED + len(study.trials)
    samplers = optuna.samplers
    study.sampler = samplers.GridSampler(ranges) if _is_grid(ranges) else samplers.TPESampler(seed=seed)
    return study


def _is_grid(ranges: dict[str, Any]) -> bool:
    return all(isinstance(choices, list) for choices in ranges.values())


def validation_accuracy(request: RunRequest) -> float:
    """Mean over the seeds of the selected epoch's validation accuracy; a run that diverges counts as zero."""
    settings = resolve(request.method, request.preset, request.graph, request.overrides)
    total = 0.0
    for run in range(request.seeds):
        try:
            loop = trained_loop(graph_of_run(request, run), settings, seed=request.seed + run)
        except DivergedError:
            continue
        total += loop.evaluate()["validation_accuracy"]
    return total / request.seeds


def _study_name(request: RunRequest, ranges: dict[str, Any]) -> str:
    """One study per question: trials over other ranges or seeds cannot be continued."""
    question = json.dumps([ranges, request.seed, request.seeds, request.split_seed], sort_keys=True)
    digest = hashlib.sha256(question.encode()).hexdigest()[:8]
    return f"{request.graph}-{request.method}-{request.preset}-{digest}"


def _suggest(trial: optuna.Trial, ranges: dict[str, Any]) -> dict[str, Any]:
    return {name: _draw(trial, name, spec) for name, spec in ranges.items()}


def _draw(trial: optuna.Trial, name: str, spec: Any) -> Any:
    match spec:
        case [*choices]:
            return trial.suggest_categorical(name, choices)
        case {"low": low, "high": high, "log": bool(log)}:
            return trial.suggest_float(name, low, high, log=log)
    raise UsageError(f"range of {name}: expected a list of choices, or a table with low, high and log")
