"""Do the missing runs of tables and figures, and write their numbers."""

from __future__ import annotations

import datetime
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confgcn.exceptions import ConfGCNError, StoppedError, UsageError
from confgcn.io.atomic_files import write_atomic
from confgcn.io.json_files import to_json
from confgcn.io.locks import locked_folder
from confgcn.io.signals import stop_request
from reproduction.artefacts import ALL, Artefact, artefacts_named
from reproduction.folder import ABOUT, RUNS, check_folder, check_renderable
from reproduction.formatting import listed
from reproduction.jobs import Job, Kind, Scope
from reproduction.measurements import Measured
from reproduction.results import FILES, Results, RunRecord, environment, provenance
from reproduction.tasks import Diverged, Failure, Outcome, Task
from reproduction.workers import perform_all

WITHOUT_TEST_NODES = ("robustness", "ablations")  # tables that can be made of validation nodes only


@dataclass(frozen=True)
class ReproductionRequest:
    """The arguments of ``confgcn reproduce``."""

    names: tuple[str, ...] = (ALL,)
    scope: Scope = field(default_factory=Scope)
    processes: int = 1
    out: Path = Path("reproduction/results")
    render_only: bool = False  # do no runs; compute the numbers from the recorded ones


class Observer:
    """Receives the progress of a reproduction; the base class ignores it."""

    def on_notice(self, text: str) -> None:
        """Something the user should know."""

    def on_plan(self, total: int, finished: int) -> None:
        """``total`` runs are needed, ``finished`` of them are recorded."""

    def on_run(self, job: Job, outcome: Outcome) -> None:
        """A run has ended."""


Failures = dict[str, Failure]  # by the name of a run, a table or a figure
RecordedRuns = dict[Kind, Results]


def reproduce(request: ReproductionRequest, observer: Observer) -> Failures:
    """Do the missing runs; write the CSV files of runs and the numbers of every table and figure.

    Returns the failed runs and artefacts with their reasons; the others are still done.
    """
    artefacts = artefacts_named(request.names)
    if request.scope.validation_only and any(artefact.name not in WITHOUT_TEST_NODES for artefact in artefacts):
        raise UsageError(f"--validation-only: only {listed(WITHOUT_TEST_NODES)} have tables without test figures")
    check_folder(request.out)
    if request.render_only:
        check_renderable(request.out, artefacts, validation_only=request.scope.validation_only)
    with locked_folder(request.out) as notices:
        for notice in notices:
            observer.on_notice(notice)
        recorded: RecordedRuns = {kind: Results(request.out, kind) for kind in FILES}
        failures = {} if request.render_only else _run_missing(request, artefacts, recorded, observer)
        for artefact in artefacts:
            if artefact.jobs is None:
                if request.render_only:
                    continue
                observer.on_notice(f"computing {artefact.name}")
            try:
                results = recorded[artefact.kind]
                write_atomic(results.file(artefact.name), to_json(artefact.numbers(request.scope, results)))
            except ConfGCNError as error:
                failures[artefact.name] = Failure(str(error), error.exit_code)
        results = recorded["paper"]
        write_atomic(results.file(ABOUT), to_json(provenance(results)))
    return failures


def _run_missing(
    request: ReproductionRequest, artefacts: Sequence[Artefact], recorded: RecordedRuns, observer: Observer
) -> Failures:
    for results in recorded.values():
        results.drop_incomplete_row()
        _remove_recorded(request.out / RUNS, results)
    first = [job for artefact in artefacts if artefact.jobs is not None for job in artefact.jobs(request.scope)]
    failures = _run_jobs(request, first, recorded, observer)
    for artefact in artefacts:
        if artefact.later_jobs is not None:
            later = artefact.later_jobs(request.scope, recorded[artefact.kind])
            failures |= _run_jobs(request, later, recorded, observer)
    return failures


def _run_jobs(
    request: ReproductionRequest, jobs: Sequence[Job], recorded: RecordedRuns, observer: Observer
) -> Failures:
    """Do those of the jobs that are not recorded, and record them."""
    total, missing, failures = _tasks(request, jobs, recorded)
    observer.on_plan(total, total - len(missing))
    if 0 < len(missing) < request.processes:
        observer.on_notice(f"using {len(missing)} of {request.processes} processes, one for each run")
    machine = environment()
    with stop_request() as stop:
        for task, outcome in perform_all(missing, processes=request.processes, stop=stop):
            if isinstance(outcome, Failure):
                failures[str(task.job)] = outcome
            else:
                _record(recorded, task, outcome, machine)
            observer.on_run(task.job, outcome)
    if stop.received is not None:
        name = signal.Signals(stop.received).name
        raise StoppedError(f"stopped by {name}; run the same command again to continue", stop.received)
    return failures


def _remove_recorded(folder: Path, results: Results) -> None:
    """Remove directories of recorded runs: a process can end between recording a run and removing its directory."""
    for run in folder.glob("*-*"):
        if run.name.partition("-")[0] in results:
            shutil.rmtree(run)


def _tasks(
    request: ReproductionRequest, jobs: Sequence[Job], recorded: RecordedRuns
) -> tuple[int, list[Task], Failures]:
    """The number of runs, and the tasks for those that are not recorded: each run once, whatever is measured of it.

    An unreadable data set fails once, with all of its runs.
    """
    data_dir, folder = request.scope.data_dir, request.out / RUNS
    runs: dict[str, dict[str, Job]] = {}
    failures: Failures = {}
    for job in dict.fromkeys(jobs):
        if job.dataset in failures:
            continue
        try:
            runs.setdefault(job.run_key(data_dir), {}).setdefault(job.key(data_dir), job)
        except ConfGCNError as error:
            failures[job.dataset] = Failure(str(error), error.exit_code)
    missing = [{key: job for key, job in run.items() if key not in recorded[job.kind]} for run in runs.values()]
    tasks = [Task(tuple(run.values()), next(iter(run)), folder, data_dir) for run in missing if run]
    return len(runs), tasks, failures


def _record(
    recorded: RecordedRuns,
    task: Task,
    outcome: Mapping[Kind, Measured] | Diverged,
    machine: tuple[str, dict[str, Any]],
) -> None:
    environment_key, environment_found = machine
    for job in task.jobs:
        results, settings = recorded[job.kind], job.variant.described(job.dataset)
        record = RunRecord(
            run=job.key(task.data_dir),
            settings=job.settings_key,
            graph=job.graph_key(task.data_dir),
            environment=environment_key,
            date=datetime.date.today().isoformat(),
            dataset=job.dataset,
            method=job.variant.method,
            preset=settings["preset"],
            changes=job.variant.changes_text,
            seed=job.seed,
            outcome="diverged" if isinstance(outcome, Diverged) else "finished",
            measured=results.files.measured({}) if isinstance(outcome, Diverged) else outcome[job.kind],
        )
        results.add(record, {environment_key: environment_found, job.settings_key: settings})
    for folder in task.folder.glob(f"{task.key}-*"):
        shutil.rmtree(folder)
