"""Run what tables and figures need and has not been run, and write their numbers."""

from __future__ import annotations

import datetime
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confgcn.exceptions import ConfGCNError, StoppedError
from confgcn.io.atomic_files import write_atomic
from confgcn.io.json_files import to_json
from confgcn.io.locks import locked_folder
from confgcn.io.signals import stop_request
from reproduction.artefacts import ALL, artefacts_named
from reproduction.confidence_measurements import Confidences
from reproduction.environment import environment
from reproduction.folder import RUNS, check_folder, check_renderable
from reproduction.jobs import Job, Kind, graph_key
from reproduction.measurements import Measurements
from reproduction.results import FILES, Results, RunRecord
from reproduction.scope import Scope
from reproduction.tasks import Diverged, Failure, Outcome, Task
from reproduction.workers import perform_all


@dataclass(frozen=True)
class ReproductionRequest:
    """What a user asks for."""

    what: tuple[str, ...] = (ALL,)
    scope: Scope = field(default_factory=Scope)
    processes: int = 1
    out: Path = Path("reproduction")
    render_only: bool = False  # run nothing, and take numbers from the runs that are there


class Watcher:
    """Told how far a reproduction is; the base class does not listen."""

    def on_notice(self, text: str) -> None:
        """Something a user should know."""

    def on_plan(self, total: int, finished: int) -> None:
        """So many runs are needed, so many of them are there."""

    def on_run(self, job: Job, outcome: Outcome) -> None:
        """A run has ended."""


Failures = dict[str, Failure]  # by the name of a run, a table or a figure
Tables = dict[Kind, Results]


def reproduce(request: ReproductionRequest, watcher: Watcher) -> Failures:
    """Run what is missing and write the tables of runs, their settings and the numbers of every table and figure.

    Returns what could not be had, and why; it does not stop the rest.
    """
    artefacts = artefacts_named(request.what)
    check_folder(request.out)
    if request.render_only:
        check_renderable(request.out, artefacts)
    with locked_folder(request.out) as notices:
        for notice in notices:
            watcher.on_notice(notice)
        tables: Tables = {kind: Results(request.out, kind) for kind in FILES}
        failures = {} if request.render_only else _run_missing(request, tables, watcher)
        for name, artefact in artefacts.items():
            if artefact.is_examination:
                if request.render_only:
                    continue
                watcher.on_notice(f"looking at what {name} shows")
            try:
                results = tables[artefact.kind]
                write_atomic(results.file(name), to_json(artefact.numbers(request.scope, results)))
            except ConfGCNError as error:
                failures[name] = Failure(str(error), error.exit_code)
    return failures


def _run_missing(request: ReproductionRequest, tables: Tables, watcher: Watcher) -> Failures:
    for results in tables.values():
        results.mend()
        _remove_left_overs(request.out / RUNS, results)
    wanted = [job for artefact in artefacts_named(request.what).values() for job in artefact.jobs(request.scope)]
    tasks, failures = _tasks(request, wanted)
    missing = [task for task in tasks if task.key not in tables[task.job.kind]]
    watcher.on_plan(len(tasks), len(tasks) - len(missing))
    if 0 < len(missing) < request.processes:
        watcher.on_notice(f"{len(missing)} of {request.processes} processes are enough, one for each run")
    made_on = environment()
    with stop_request() as stop:
        for task, outcome in perform_all(missing, processes=request.processes, stop=stop):
            if isinstance(outcome, Failure):
                failures[str(task.job)] = outcome
            else:
                _keep(tables[task.job.kind], task, outcome, made_on)
            watcher.on_run(task.job, outcome)
    if stop.received is not None:
        name = signal.Signals(stop.received).name
        raise StoppedError(f"stopped by {name}; give the same command again to go on", stop.received)
    return failures


def _remove_left_overs(folder: Path, results: Results) -> None:
    """Folders of runs whose rows are there: the process ended between the two."""
    for run in folder.glob("*-*"):
        if run.name.partition("-")[0] in results:
            shutil.rmtree(run)


def _tasks(request: ReproductionRequest, jobs: Sequence[Job]) -> tuple[list[Task], Failures]:
    """Each run once, whatever asks for it; a data set that cannot be read fails once, and its runs with it."""
    data_dir, folder = request.scope.data_dir, request.out / RUNS
    tasks: dict[str, Task] = {}
    failures: Failures = {}
    for job in dict.fromkeys(jobs):
        if job.dataset in failures:
            continue
        try:
            key = job.key(data_dir)
        except ConfGCNError as error:
            failures[job.dataset] = Failure(str(error), error.exit_code)
        else:
            tasks.setdefault(key, Task(job, key, folder, data_dir))
    return list(tasks.values()), failures


def _keep(
    results: Results,
    task: Task,
    outcome: Measurements | Confidences | Diverged,
    made_on: tuple[str, dict[str, Any]],
) -> None:
    job = task.job
    settings = job.variant.settings(job.dataset)
    environment_key, environment_found = made_on
    record = RunRecord(
        run=task.key,
        settings=job.settings_key,
        graph=graph_key(job.dataset, job.split_seed, task.data_dir),
        environment=environment_key,
        date=datetime.date.today().isoformat(),
        dataset=job.dataset,
        method=job.variant.method,
        preset=settings.preset,
        changes=job.variant.changes_text,
        seed=job.seed,
        outcome="diverged" if isinstance(outcome, Diverged) else "finished",
        measured=results.files.measured({}) if isinstance(outcome, Diverged) else outcome,
    )
    results.add(record, {environment_key: environment_found, job.settings_key: settings.as_dict()})
    for folder in task.folder.glob(f"{task.key}-*"):
        shutil.rmtree(folder)
