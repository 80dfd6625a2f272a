"""Execute the jobs of one run: train or resume it, measure it, and return its outcome."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confgcn.exceptions import ConfGCNError, CorruptFileError, DivergedError, ResourceError, StoppedError
from confgcn.graph import Graph
from confgcn.io.checksums import verify
from confgcn.runs.directory import RunDirectory
from confgcn.runs.request import RunRequest
from confgcn.runs.train import train
from reproduction.influence_measurements import CandidateKeeper, measure_influences
from reproduction.jobs import Job, Kind
from reproduction.measurements import Measured, measure, measure_confidences
from reproduction.peers import FeatureClassifier
from reproduction.robustness_measurements import measure_classifier, measure_robustness, measure_validation

# What is measured of a run, by kind: from its directory, its graph as loaded, its metrics and its seconds. The kind
# "influence" is not here: it is measured of the candidates of a search, which no run directory keeps.
MEASURES: dict[Kind, Callable[[Path, Graph, dict[str, Any], float | None], Measured]] = {
    "paper": measure,
    "confidence": measure_confidences,
    "validation": measure_validation,
    "robustness": measure_robustness,
}


@dataclass(frozen=True)
class Task:
    """The jobs of one run, which differ in their kind only, the key of the first, and the folder of run directories."""

    jobs: tuple[Job, ...]
    key: str
    folder: Path
    data_dir: Path | None

    @property
    def job(self) -> Job:
        """The first of the jobs: it stands for the run."""
        return self.jobs[0]

    @property
    def run_directory(self) -> Path:
        """Where the run is trained."""
        # Jobs with the same key can name different presets, and a run directory resumes only its own.
        return self.folder / f"{self.key}-{self.job.variant.preset}"


@dataclass(frozen=True)
class Failure:
    """Why there is no result. A failed job is tried again next time."""

    reason: str
    exit_code: int


@dataclass(frozen=True)
class Diverged:
    """Training reached a number that is not finite: a result that every repetition would give, so no failure."""


Outcome = Mapping[Kind, Measured] | Diverged | Failure


def perform(task: Task) -> Outcome:
    """Do the jobs; every error except a stop request becomes an outcome, so that other tasks continue."""
    try:
        return _restarted_if_corrupt(task)
    except StoppedError:
        raise
    except DivergedError:
        return Diverged()
    except ConfGCNError as error:
        return Failure(str(error), error.exit_code)
    except (OSError, MemoryError) as error:
        return Failure(str(error) or "not enough memory", ResourceError.exit_code)
    except Exception as error:  # a bug in one task must not cost the results of the others
        return Failure(f"{type(error).__name__}: {error}", 1)


def _restarted_if_corrupt(task: Task) -> dict[Kind, Measured]:
    """A crash can leave a corrupt run directory; it is our own, so the run starts again."""
    try:
        return _measured(task)
    except CorruptFileError:
        if not task.run_directory.is_dir():
            raise
        shutil.rmtree(task.run_directory)
        return _measured(task)


def _measured(task: Task) -> dict[Kind, Measured]:
    job, kinds = task.job, [each.kind for each in task.jobs]
    graph = job.load_graph(task.data_dir)
    if isinstance(job.variant, FeatureClassifier):
        return {
            kind: measure_classifier(job.variant, graph, seed=job.seed, with_test=kind == "robustness")
            for kind in kinds
        }
    keeper = CandidateKeeper()
    in_directory: list[Kind] = [kind for kind in kinds if kind != "influence"]
    measured = _measured_in_directory(task, graph, in_directory, keeper) if in_directory else {}
    if "influence" in kinds:
        settings = job.variant.settings(job.dataset)
        measured["influence"] = measure_influences(graph, settings, seed=job.seed, keeper=keeper)
    return measured


def _measured_in_directory(
    task: Task, graph: Graph, kinds: list[Kind], keeper: CandidateKeeper
) -> dict[Kind, Measured]:
    job, out = task.job, task.run_directory
    is_resumed = RunDirectory(out).holds_run
    if RunDirectory(out).finished:
        verify(out)  # a resumed run has no measured seconds, so a corrupt one starts again
    request = RunRequest(
        graph=job.dataset if job.folder is None else graph,
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
    metrics = train(request, notify=_ignore, callbacks=[keeper] if len(kinds) < len(task.jobs) else [])["runs"][0]
    seconds = None if is_resumed else time.process_time() - started
    return {kind: MEASURES[kind](out, graph, metrics, seconds) for kind in kinds}


def _ignore(notice: Any) -> None:
    """Notices are dropped: the same few would appear for every run."""
