"""A run directory: claimed by one process at a time, never overwritten silently, finished with metrics.json."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from confgcn.exceptions import BusyError, CorruptFileError, ResourceError, UsageError
from confgcn.training.files import TEMPORARY_SUFFIX, to_json, write_atomic

LOCK = "run.lock"
CONFIG = "config.json"
METRICS = "metrics.json"
CHECKPOINTS = "checkpoints"
OWN_FILES = (
    CONFIG,
    METRICS,
    "history.jsonl",
    "environment.json",
    "predictions.csv",
    "model.*",
    "best_before_*",
    "*.tmp",
)

IfExists = Literal["refuse", "resume", "overwrite"]


class RunDirectory:
    """The files of one run. Names are attributes so that nobody spells them twice."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / CONFIG
        self.metrics = path / METRICS
        self.history = path / "history.jsonl"
        self.environment = path / "environment.json"
        self.predictions = path / "predictions.csv"
        self.model = path / "model"  # .safetensors and .json
        self.best_before_divergence = path / "best_before_divergence"
        self.checkpoints = path / CHECKPOINTS

    @property
    def finished(self) -> bool:
        return self.metrics.is_file()

    def start(self, config: dict[str, Any]) -> None:
        """Make the folder and record the configuration, or check that it is the one recorded."""
        self.path.mkdir(parents=True, exist_ok=True)
        for left_over in self.path.glob(f"**/*{TEMPORARY_SUFFIX}"):
            left_over.unlink()
        if not self.config.is_file():
            write_atomic(self.config, to_json(config))
            return
        recorded = read_json(self.config)
        different = sorted(key for key in {*recorded, *config} if recorded.get(key) != config.get(key))
        if different:
            changes = "; ".join(f"{key}: {recorded.get(key)!r} there, {config.get(key)!r} now" for key in different)
            raise UsageError(f"{self.path}: cannot resume with other settings ({changes})")

    def clear_checkpoints(self) -> None:
        """A finished run needs none."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)


@contextmanager
def claimed(path: Path, *, if_exists: IfExists) -> Iterator[list[str]]:
    """Hold the directory for this process; yields notices about what was found in it."""
    _check_target(path, if_exists)
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / LOCK).open("a+")
    except OSError as error:
        raise ResourceError(f"cannot write to {path.absolute()}: {error.strerror}") from None
    with lock:
        notices = _lock(lock, path)
        try:
            if if_exists == "overwrite":
                _erase_run(path)
            yield notices
        finally:
            lock.truncate(0)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object of a run directory."""
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise CorruptFileError(f"{path}: corrupt, not readable as JSON ({error})") from None
    if not isinstance(content, dict):
        raise CorruptFileError(f"{path}: corrupt, expected a JSON object")
    return content


def free_directory(parent: Path, name: str) -> Path:
    """``parent/name``, or ``name-2``, ``name-3``, ... if that is taken."""
    candidates = (parent / (name if number == 1 else f"{name}-{number}") for number in range(1, 1_000_000))
    return next(path for path in candidates if not path.exists())


def _check_target(path: Path, if_exists: IfExists) -> None:
    if not path.exists():
        if if_exists == "resume":
            raise UsageError(f"{path}: nothing to resume, there is no such directory")
        return
    if not path.is_dir():
        raise UsageError(f"{path}: exists and is not a directory")
    holds_run = (path / CONFIG).is_file()
    if not holds_run and any(entry.name != LOCK for entry in path.iterdir()):
        raise UsageError(f"{path}: is not empty and holds no run; choose another --out")
    if holds_run and if_exists == "refuse":
        raise UsageError(f"{path}: already holds a run; use --resume, --overwrite or another --out")


def _lock(lock: Any, path: Path) -> list[str]:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        raise BusyError(f"{path}: in use by process {lock.read().strip() or 'unknown'}") from None
    # The operating system drops the lock of a dead process: text that is still there was left by one.
    lock.seek(0)
    previous = lock.read().strip()
    lock.seek(0)
    lock.truncate()
    lock.write(str(os.getpid()))
    lock.flush()
    return [f"took over from process {previous}, which ended without finishing"] if previous else []


def _erase_run(path: Path) -> None:
    """Remove what a run writes, and nothing that somebody else put beside it."""
    for member in (path, *path.glob("seed-*")):
        shutil.rmtree(member / CHECKPOINTS, ignore_errors=True)
        for pattern in OWN_FILES:
            for file in member.glob(pattern):
                file.unlink()
