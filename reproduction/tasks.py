"""Do one job: train it or go on training it, measure it, and say what became of it."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confgcn.data.datasets import load_graph
from confgcn.exceptions import ConfGCNError, CorruptFileError, DivergedError, ResourceError, StoppedError
from confgcn.io.checksums import verify
from confgcn.runs.directory import RunDirectory
from confgcn.runs.request import RunRequest
from confgcn.runs.train import train
from reproduction.confidence_measurements import Confidences
from reproduction.jobs import Job
from reproduction.measurements import MEASURES, Measurements


@dataclass(frozen=True)
class Task:
    """A job, its key, and the folder it is worked on in."""

    job: Job
    key: str
    folder: Path
    data_dir: Path | None

    @property
    def run_directory(self) -> Path:
        # Jobs of one key can have presets of different names, which a run directory would not resume.
        return self.folder / f"{self.key}-{self.job.variant.preset}"


@dataclass(frozen=True)
class Failure:
    """Why there is no result. A failed job is tried again when it is next asked for."""

    reason: str
    exit_code: int


@dataclass(frozen=True)
class Diverged:
    """Training met a number that is not finite, and always will: a result, and no failure."""


Outcome = Measurements | Confidences | Diverged | Failure


def perform(task: Task) -> Outcome:
    """Do the job; every error but a stop becomes an outcome, so that the other jobs go on."""
    try:
        return _measured_anew_if_damaged(task)
    except StoppedError:
        raise
    except DivergedError:
        return Diverged()
    except ConfGCNError as error:
        return Failure(str(error), error.exit_code)
    except (OSError, MemoryError) as error:
        return Failure(str(error) or "not enough memory", ResourceError.exit_code)
    except Exception as error:  # one job's bug must not cost the others their results
        return Failure(f"{type(error).__name__}: {error}", 1)


def _measured_anew_if_damaged(task: Task) -> Measurements | Confidences:
    """What a crash left in the folder may be damaged; the folder is our own, so the run begins again."""
    try:
        return _measured(task)
    except CorruptFileError:
        if not task.run_directory.is_dir():
            raise
        shutil.rmtree(task.run_directory)
        return _measured(task)


def _measured(task: Task) -> Measurements | Confidences:
    job, out = task.job, task.run_directory
    is_resumed = RunDirectory(out).holds_run
    if RunDirectory(out).finished:
        verify(out)  # resuming would make it again as well, but not measure its seconds
    request = RunRequest(
        graph=job.dataset,
        method=job.variant.method,
        preset=job.variant.preset,
        seed=job.seed,
        split_seed=job.split_seed,
        data_dir=task.data_dir,
        overrides=dict(job.variant.changes),
        out=out,
        if_exists="resume" if is_resumed else "refuse",
    )
    started = time.process_time()
    metrics = train(request, notify=_unheard)["runs"][0]
    seconds = None if is_resumed else time.process_time() - started
    graph = load_graph(job.dataset, data_dir=task.data_dir, split_seed=job.split_seed)
    return MEASURES[job.kind](out, graph, metrics, seconds)


def _unheard(notice: Any) -> None:
    """The same few notices would come with every one of many runs."""
