"""Search settings by validation accuracy; finished trials are stored in a database, so that a search can resume."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confgcn.data.input_files import naming
from confgcn.exceptions import ConfGCNError, DataError, DivergedError, ResourceError, StoppedError, UsageError, brief
from confgcn.graph import Graph
from confgcn.io.signals import StopRequest, stop_request
from confgcn.io.threads import computing_with
from confgcn.io.toml import read_toml
from confgcn.runs.fitted import Notify, check_influence
from confgcn.runs.graph_input import in_memory
from confgcn.runs.request import RunRequest
from confgcn.runs.settings import RunSettings
from confgcn.runs.train import graphs_of_runs, make_loop
from confgcn.training.callbacks import Callback
from confgcn.training.checkpoint import StopOnSignal
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded

if TYPE_CHECKING:
    import optuna

SAMPLER_SEED = 0
DATABASE_LIBRARIES = ("sqlalchemy", "optuna")


def search(request: RunRequest, *, space: Path, storage: Path, trials: int, notify: Notify) -> dict[str, Any]:
    """Try settings from ``space`` until the study holds ``trials`` trials; returns the best.

    A space of lists alone is a grid: each combination is tried once, and there are no more trials than that.
    """
    ranges = read_ranges(request, space)
    settings = request.settings()
    if settings.searches:
        notify(f"preset {settings.preset}: its one model is tuned and not its candidates (search = false)")
    if _is_grid(ranges):
        trials = min(trials, math.prod(len(choices) for choices in ranges.values()))
    loaded = replace(request, graph=in_memory(request.graph_input))
    _check_comparable(next(graphs_of_runs(loaded)))  # before a database is created
    with (
        _resumable(storage) as finished,
        _database_errors(storage),
        stop_request() as stop,
        computing_with(request.threads),
    ):
        study = _open_study(request, ranges, storage)
        finished.append(_num_finished(study))
        study.optimize(
            _objective(loaded, ranges, stop),
            n_trials=max(0, trials - finished[-1]),
            callbacks=[
                lambda study, trial: notify(_progress(study, trial)),
                lambda study, _: finished.append(_num_finished(study)),
            ],
        )
        return {
            "validation_accuracy": study.best_value,
            "trials": _num_finished(study),
            "settings": {**study.best_params, **({"search": False} if settings.searches else {})},
        }


def _objective(request: RunRequest, ranges: dict[str, Any], stop: StopRequest) -> Callable[[optuna.Trial], float]:
    def objective(trial: optuna.Trial) -> float:
        with _interrupting():
            chosen = replace(request, overrides=_suggest(trial, ranges))
            return validation_accuracy(chosen, [StopOnSignal(stop)])

    return objective


def read_ranges(request: RunRequest, space: Path) -> dict[str, Any]:
    """The settings to search, by name, from a file: choices, or the ends of a range."""
    request.settings()  # an error in these is not an error of the file
    with naming(space):
        ranges = read_toml(space)
        _check_ranges(request, ranges)
    return ranges


def _check_ranges(request: RunRequest, ranges: dict[str, Any]) -> None:
    """Check every choice and both ends of every range now, instead of hours into the search."""
    if not ranges:
        raise UsageError("the space names no setting to search")
    if "search" in ranges:
        raise UsageError("search: tune trains one model with each choice of settings; leave it out")
    for name, spec in ranges.items():
        for value in _extremes(name, spec):
            check_influence(replace(request, overrides={name: value}).settings(), searching=False)


def _extremes(name: str, spec: Any) -> list[Any]:
    match spec:
        case [_, *_]:
            return list(spec)
        case {"low": int() | float() as low, "high": int() | float() as high, "log": bool(log)} if len(spec) == 3:
            if low < high and (low > 0 or not log):
                return [low, high]
    raise UsageError(f"range of {name}: expected a list of choices, or a table with low < high and log (then 0 < low)")


def _num_finished(study: optuna.Study) -> int:
    return sum(trial.value is not None for trial in study.trials)


class _Interrupted(BaseException):
    """Carries an error past optuna, which would count the trial that it ended as finished."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


@contextmanager
def _interrupting() -> Iterator[None]:
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        raise _Interrupted(error) from None


@contextmanager
def _resumable(storage: Path) -> Iterator[list[int]]:
    """Raise what interrupted a trial; after a stop, with how to resume. Yields a list of the trials finished so far."""
    finished = [0]
    try:
        yield finished
    except _Interrupted as interrupted:
        if not isinstance(interrupted.error, StoppedError):
            raise interrupted.error from None
        stored = f"{finished[-1]} finished trials are stored in {storage}"
        message = f"{interrupted.error}; {stored}. To continue, repeat the command"
        raise StoppedError(message, interrupted.error.signal_number) from None


@contextmanager
def _database_errors(storage: Path) -> Iterator[None]:
    """One short error for all errors of the database."""
    try:
        yield
    except ConfGCNError:
        raise
    except Exception as error:  # a ValueError comes from the content of the database
        if not isinstance(error, ValueError) and type(error).__module__.partition(".")[0] not in DATABASE_LIBRARIES:
            raise
        problem = str(error.__cause__ or error).partition("\n")[0]
        raise ResourceError(f"the study {storage.absolute()} cannot be used: {brief(problem)}") from None


def _progress(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> str:
    return f"trial {trial.number}: {trial.value:.4f}, best {study.best_value:.4f}"


def _open_study(request: RunRequest, ranges: dict[str, Any], storage: Path) -> optuna.Study:
    try:
        import optuna
        import sqlalchemy
    except ImportError:
        raise ResourceError("tuning needs optuna: pip install 'confgcn[tune]'") from None
    if not storage.absolute().parent.is_dir():
        raise ResourceError(f"no such folder for the study: {storage.absolute().parent}")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    name = _study_name(request, ranges)
    url = str(sqlalchemy.URL.create("sqlite", database=str(storage.absolute())))
    study = optuna.create_study(study_name=name, storage=url, direction="maximize", load_if_exists=True)
    # A sampler starts its random stream again in every process: with one seed a resumed search would repeat itself.
    seed = SAMPLER_SEED + len(study.trials)
    study.sampler = (
        optuna.samplers.GridSampler(ranges, seed=SAMPLER_SEED)
        if _is_grid(ranges)
        else optuna.samplers.TPESampler(seed=seed)
    )
    return study


def _is_grid(ranges: dict[str, Any]) -> bool:
    return all(isinstance(choices, list) for choices in ranges.values())


def validation_accuracy(request: RunRequest, callbacks: Sequence[Callback] = ()) -> float:
    """Mean over the seeds of the selected epoch's validation accuracy; a run that diverges counts as zero."""
    settings = request.settings()
    total = 0.0
    for run, graph in enumerate(graphs_of_runs(request)):
        _check_comparable(graph)
        try:
            loop = _trained(graph, settings, callbacks, seed=request.seed + run)
        except DivergedError:
            continue
        total += loop.validate()["validation_accuracy"]
    return total / request.seeds


def _check_comparable(graph: Graph) -> None:
    if not len(graph.validation):
        raise DataError(f"{graph.name}: no validation nodes to compare settings by; hold some out: --validation 0.3")


def _trained(graph: Graph, settings: RunSettings, callbacks: Sequence[Callback], *, seed: int) -> TrainingLoop:
    with seeded(seed):
        loop = make_loop(graph, settings, callbacks, seed=seed)
        loop.fit()
    return loop


def _study_name(request: RunRequest, ranges: dict[str, Any]) -> str:
    """One study for each search: trials over other ranges or seeds cannot be continued."""
    identity = [ranges, request.seed, request.seeds, request.split_seed, *request.graph_input.record().values()]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    return f"{request.graph_input.name}-{request.method}-{request.preset}-{digest}"


def _suggest(trial: optuna.Trial, ranges: dict[str, Any]) -> dict[str, Any]:
    return {name: _draw(trial, name, spec) for name, spec in ranges.items()}


def _draw(trial: optuna.Trial, name: str, spec: Any) -> Any:
    if isinstance(spec, list):
        return trial.suggest_categorical(name, spec)
    if isinstance(spec["low"], int) and isinstance(spec["high"], int):
        return trial.suggest_int(name, spec["low"], spec["high"], log=spec["log"])
    return trial.suggest_float(name, spec["low"], spec["high"], log=spec["log"])
