"""Run what a table or figure needs and has not been run, then write its numbers, then render them."""

from __future__ import annotations

import datetime
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confgcn.exceptions import StoppedError, UsageError
from confgcn.experiments.paper.artefacts import ALL, ARTEFACTS, artefacts_named
from confgcn.experiments.paper.environment import environment
from confgcn.experiments.paper.jobs import Job, graph_key
from confgcn.experiments.paper.measurements import Measurements
from confgcn.experiments.paper.results import FILES, Results, RunRecord
from confgcn.experiments.paper.scope import Scope
from confgcn.experiments.paper.tasks import Failure, Outcome, Task
from confgcn.experiments.paper.workers import perform_all
from confgcn.reporting.page import page
from confgcn.reporting.render import pictures_of, texts_of
from confgcn.training.files import TEMPORARY_SUFFIX, read_json, to_json, write_atomic
from confgcn.training.run_directory import LOCK, held
from confgcn.training.signals import stop_request

RUNS = "runs"  # in the folder of the results: runs that are not finished
ABOUT = "about"
PAGE = "results.md"


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

    def on_plan(self, total: int, finished: int) -> None:
        """So many runs are needed, so many of them are there."""

    def on_run(self, job: Job, outcome: Outcome) -> None:
        """A run has ended."""


def reproduce(request: ReproductionRequest, watcher: Watcher) -> dict[Job, Failure]:
    """Run what is missing and write results.csv, settings.json and the numbers of every table and figure.

    Returns the jobs that have no result, and why.
    """
    artefacts = artefacts_named(request.what)
    _check_folder(request.out)
    if request.render_only:
        _check_renderable(request)
    with held(request.out):
        results = Results(request.out)
        failures = {} if request.render_only else _run_missing(request, results, watcher)
        for name, artefact in artefacts.items():
            if not (request.render_only and artefact.is_examination):
                write_atomic(results.file(name), to_json(artefact.numbers(request.scope, results)))
        write_atomic(results.file(ABOUT), to_json(about(results)))
    return failures


def _run_missing(request: ReproductionRequest, results: Results, watcher: Watcher) -> dict[Job, Failure]:
    results.mend()
    _remove_left_overs(request.out / RUNS, results)
    wanted = [job for artefact in artefacts_named(request.what).values() for job in artefact.jobs(request.scope)]
    tasks = _tasks(request, wanted)
    missing = [task for task in tasks if task.key not in results]
    watcher.on_plan(len(tasks), len(tasks) - len(missing))
    failures: dict[Job, Failure] = {}
    with stop_request() as stop:
        for task, outcome in perform_all(missing, processes=request.processes, stop=stop):
            if isinstance(outcome, Failure):
                failures[task.job] = outcome
            else:
                _keep(results, task, outcome)
            watcher.on_run(task.job, outcome)
    if stop.received is not None:
        name = signal.Signals(stop.received).name
        raise StoppedError(f"stopped by {name}; give the same command again to go on", stop.received)
    return failures


def render(request: ReproductionRequest) -> list[Path]:
    """Tables, pictures and the page of results from the numbers in the folder; returns the files.

    The page shows every table and figure whose numbers are there. What needs matplotlib comes last.
    """
    report = read_report(request.out)
    names = list(artefacts_named(request.what))
    files = _written(request.out, {PAGE: page(report).encode()})
    for draw in (texts_of, pictures_of):
        for name in names:
            files += _written(request.out, draw(name, report[name]))
    return files


def read_report(folder: Path) -> dict[str, dict[str, Any]]:
    """The numbers of every table and figure that are in a folder, and what they were computed on."""
    files = {name: folder / f"{name}.json" for name in (*ARTEFACTS, ABOUT)}
    return {name: read_json(file) for name, file in files.items() if file.is_file()}


def about(results: Results) -> dict[str, Any]:
    """When and on what the runs were done."""
    records = results.records.values()
    dates = sorted({record.date for record in records})
    return {
        "runs": len(records),
        "dates": [dates[0], dates[-1]] if dates else [],
        "environments": [results.meanings[key] for key in sorted({record.environment for record in records})],
    }


def _written(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    for name, content in contents.items():
        write_atomic(folder / name, content)
    return [folder / name for name in contents]


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is not a directory")
    entries = {entry.name.removesuffix(TEMPORARY_SUFFIX) for entry in out.iterdir()} if out.is_dir() else set()
    ours = {*(f"{name}.json" for name in (*ARTEFACTS, ABOUT)), *FILES}
    if entries - {LOCK, RUNS} and not entries & ours:
        raise UsageError(f"{out}: is not empty and holds no results; choose another --out")


def _check_renderable(request: ReproductionRequest) -> None:
    """Is there everything that the numbers are made of?"""
    artefacts = artefacts_named(request.what)
    needed = {f"{name}.json" if row.is_examination else FILES[0] for name, row in artefacts.items()}
    missing = sorted(name for name in needed if not (request.out / name).is_file())
    if missing:
        raise UsageError(f"{request.out}: holds no {', '.join(missing)}; leave out --render-only to make them")


def _remove_left_overs(folder: Path, results: Results) -> None:
    """Folders of runs whose rows are there: the process ended between the two."""
    for run in folder.glob("*-*"):
        if run.name.partition("-")[0] in results:
            shutil.rmtree(run)


def _tasks(request: ReproductionRequest, jobs: Sequence[Job]) -> list[Task]:
    """Each run once, whatever asks for it."""
    data_dir, folder = request.scope.data_dir, request.out / RUNS
    tasks = (Task(job, job.key(data_dir), folder, data_dir) for job in dict.fromkeys(jobs))
    return list({task.key: task for task in tasks}.values())


def _keep(results: Results, task: Task, measured: Measurements | None) -> None:
    job = task.job
    settings = job.variant.settings(job.dataset)
    environment_key, environment_found = environment()
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
        outcome="diverged" if measured is None else "finished",
        measured=measured or Measurements(),
    )
    results.add(record, {environment_key: environment_found, job.settings_key: settings.as_dict()})
    for folder in task.folder.glob(f"{task.key}-*"):
        shutil.rmtree(folder)
