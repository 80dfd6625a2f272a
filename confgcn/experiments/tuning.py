"""Search settings on validation accuracy, resumable: every finished trial is kept in a database."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confgcn.exceptions import DivergedError, ResourceError, UsageError
from confgcn.experiments.presets import resolve
from confgcn.experiments.runs import Notify, RunRequest, prepare_graph, trained_loop
from confgcn.toml import read_toml

if TYPE_CHECKING:
    import optuna

SAMPLER_SEED = 0


def search(request: RunRequest, *, space: Path, storage: Path, trials: int, notify: Notify) -> dict[str, Any]:
    """Try settings from ``space`` until the study holds ``trials`` trials; returns the best.

    A space of lists alone is a grid: each combination is tried once, and there are no more trials than that.
    """
    try:
        import optuna
    except ImportError:
        raise ResourceError("tuning needs optuna: pip install 'confgcn[tune]'") from None

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ranges = read_toml(space)
    is_grid = all(isinstance(choices, list) for choices in ranges.values())
    trials = min(trials, math.prod(len(choices) for choices in ranges.values())) if is_grid else trials
    study = optuna.create_study(
        study_name=f"{request.graph}-{request.method}-{request.preset}",
        storage=f"sqlite:///{storage}",
        sampler=optuna.samplers.GridSampler(ranges, seed=SAMPLER_SEED)
        if is_grid
        else optuna.samplers.TPESampler(seed=SAMPLER_SEED),
        direction="maximize",
        load_if_exists=True,
    )
    done = len(study.get_trials(states=[optuna.trial.TrialState.COMPLETE]))
    study.optimize(
        lambda trial: validation_accuracy(replace(request, overrides=_suggest(trial, ranges))),
        n_trials=trials - done,
        callbacks=[
            lambda study, trial: notify(f"trial {trial.number}: {trial.value:.4f}, best {study.best_value:.4f}")
        ],
    )
    return {"validation_accuracy": study.best_value, "trials": trials, "settings": study.best_params}


def validation_accuracy(request: RunRequest) -> float:
    """Mean over the seeds of the selected epoch's validation accuracy; a run that diverges counts as zero."""
    settings = resolve(request.method, request.preset, request.graph, request.overrides)
    total = 0.0
    for run in range(request.seeds):
        try:
            loop = trained_loop(prepare_graph(request, settings, run=run), settings, seed=request.seed + run)
        except DivergedError:
            continue
        total += loop.evaluate()["validation_accuracy"]
    return total / request.seeds


def _suggest(trial: optuna.Trial, ranges: dict[str, Any]) -> dict[str, Any]:
    return {name: _draw(trial, name, spec) for name, spec in ranges.items()}


def _draw(trial: optuna.Trial, name: str, spec: Any) -> Any:
    match spec:
        case [*choices]:
            return trial.suggest_categorical(name, choices)
        case {"low": low, "high": high, "log": bool(log)}:
            return trial.suggest_float(name, low, high, log=log)
    raise UsageError(f"range of {name}: expected a list of choices, or a table with low, high and log")
