"""A run directory: claimed by one process at a time, never overwritten silently, finished with metrics.json."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from confgcn.exceptions import CorruptFileError, ResourceError, UsageError, brief
from confgcn.io.atomic_files import reporting_write_errors, target_name, write_atomic
from confgcn.io.checksums import SUMS, damaged_files, write_checksums
from confgcn.io.json_files import read_checksummed_json, to_json, write_checksummed_json
from confgcn.io.locks import LOCK, check_unlocked, locked_folder

CONFIG = "config.json"
SCHEMA_KEY = "confgcn_run"  # in config.json: marks the folder of a run
SCHEMA = 2  # layout of a run directory
_MARK = SCHEMA_KEY.encode()
MOST_CHANGES, LONGEST_CHANGE = 4, 50  # settings in a message, and characters of each
INPUT_PATHS = {f"input.{file}" for file in ("path", "edges", "nodes", "features")}  # not compared: files may move

IfExists = Literal["refuse", "resume", "overwrite"]


class RunDirectory:
    """The files of one run; every name is spelled here only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / CONFIG
        self.metrics = path / "metrics.json"
        self.history = path / "history.jsonl"
        self.environment = path / "environment.json"
        self.predictions = path / "predictions.csv"
        self.new_nodes = path / "new_nodes.csv"
        self.label_errors = path / "label_errors.csv"
        self.disagreeing_edges = path / "disagreeing_edges.csv"
        self.evaluation = path / "evaluation.json"
        self.figures = [path / f"{name}.svg" for name in ("reliability", "risk_coverage", "groups")]
        self.estimator = path / "estimator.json"  # for Python: the order of rows, the type of labels
        self.report = path / "report.html"
        self.graph = path / "graph.npz"  # where the graph cannot be loaded by name
        self.model = path / "model"  # .safetensors and .json
        self.held_out = path / "held_out"  # likewise
        self.best_before_divergence = path / "best_before_divergence"
        self.checkpoints = path / "checkpoints"
        self.search = path / "search"  # the candidates that a search has trained, until it has ended
        self.shards = path / "shards"  # of a training by several workers, until it has ended

    @property
    def finished(self) -> bool:
        return self.metrics.is_file()

    @property
    def holds_run(self) -> bool:
        """Whether a run wrote this folder, even if its config.json is damaged, or lost after the run ended; a
        config.json of another program does not count."""
        is_ours = (self.path / LOCK).is_file() or (self.config.is_file() and _MARK in self.config.read_bytes())
        return is_ours and (self.config.is_file() or (self.path / SUMS).is_file())

    def start(self, config: dict[str, Any]) -> None:
        """Make the folder and record the configuration, or check that it is the one recorded."""
        refuse_link(self.checkpoints)
        refuse_link(self.search)
        self.path.mkdir(parents=True, exist_ok=True)
        self._remove_left_overs()
        if not self.config.is_file():
            write_checksummed_json(self.config, {SCHEMA_KEY: SCHEMA, **config})
            return
        recorded, now = flattened(read_checksummed_json(self.config)), flattened({SCHEMA_KEY: SCHEMA, **config})
        if recorded.get(SCHEMA_KEY) != SCHEMA:
            version = brief(repr(recorded.get(SCHEMA_KEY)))
            raise CorruptFileError(
                f"{self.config}: a run of layout {version}, this version of confgcn reads layout {SCHEMA}"
            )
        different = sorted(key for key in {*recorded, *now} - INPUT_PATHS if recorded.get(key) != now.get(key))
        if different:
            changes = "; ".join(_change(key, recorded.get(key), now.get(key)) for key in different[:MOST_CHANGES])
            more = f"; {len(different)} in all" if len(different) > MOST_CHANGES else ""
            raise UsageError(f"{self.path}: cannot resume with other settings ({changes}{more}); leave them out")

    def finish(self, metrics: dict[str, Any]) -> None:
        """Write the checksums of all files, then metrics.json, which marks the run as complete."""
        content = to_json(metrics)
        if self.finished and self.metrics.read_bytes() == content and not damaged_files(self.path):
            return  # it was finished before
        written = [file for file in self._training_files() if file != self.metrics]
        write_checksums(self.path, written, not_yet_written={self.metrics.name: content})
        write_atomic(self.metrics, content)

    def discard_damage(self) -> list[str]:
        """Make a finished run with an altered file an unfinished one; returns what was altered."""
        damaged = damaged_files(self.path) if self.finished else {}
        for file in (self.metrics, *(self.path / name for name in damaged)) if damaged else ():
            file.unlink(missing_ok=True)
        return list(damaged.values())

    def clear_checkpoints(self) -> None:
        """Remove the checkpoints of a finished run."""
        for file in self.checkpoints.glob("epoch-*"):
            file.unlink()
        if self.checkpoints.is_dir() and not any(self.checkpoints.iterdir()):
            self.checkpoints.rmdir()

    def clear_search(self) -> None:
        """Remove the trained candidates of a finished run."""
        for file in self.search.glob("candidate-*"):
            file.unlink()
        if self.search.is_dir() and not any(self.search.iterdir()):
            self.search.rmdir()

    def clear_unfinished(self) -> None:
        """Remove what only an unfinished run needs."""
        self.clear_checkpoints()
        self.clear_search()
        self.clear_shards()  # of several workers, if they began the run that this process has finished

    def clear_shards(self) -> None:
        """Remove the shards of a finished run."""
        if not self.shards.is_symlink():
            shutil.rmtree(self.shards, ignore_errors=True)

    def erase(self) -> None:
        """Remove the files of the run and no others."""
        refuse_link(self.checkpoints)
        refuse_link(self.search)
        for member in self._members():
            member.erase()
            if not any(member.path.iterdir()):
                member.path.rmdir()
        self._remove_left_overs()
        self.clear_unfinished()
        others = [file for file in self._files() if file != self.config]
        for file in (*others, self.config):  # last: it identifies the folder as that of a run if this is interrupted
            file.unlink(missing_ok=True)

    def _members(self) -> list[RunDirectory]:
        """The runs of single seeds, without links and folders of that name that no run wrote."""
        folders = [path for path in self.path.glob("seed-*") if path.is_dir() and not path.is_symlink()]
        return [run for run in map(RunDirectory, folders) if run.holds_run]

    def _training_files(self) -> list[Path]:
        tables = [self.history, self.predictions, self.label_errors, self.disagreeing_edges]
        tensors = [*_both(self.model), *_both(self.held_out)]
        return [*tensors, self.metrics, *tables, self.environment, self.config, self.graph, self.estimator]

    def _files(self) -> list[Path]:
        later = [self.evaluation, *self.figures, self.report, self.new_nodes]
        return [*self._training_files(), self.path / SUMS, *_both(self.best_before_divergence), *later]

    def _remove_left_overs(self) -> None:
        """Remove temporary files of a process that was killed while it wrote."""
        own = {file.name for file in self._files()}
        files = [file for file in self.path.iterdir() if file.name != target_name(file.name) in own]
        for left_over in [*files, *self.checkpoints.glob("*.tmp"), *self.search.glob("*.tmp")]:
            left_over.unlink(missing_ok=True)
        for left_over in self.path.glob(f"{self.shards.name}.*.tmp"):
            if left_over.is_dir() and not left_over.is_symlink():
                shutil.rmtree(left_over, ignore_errors=True)


@contextmanager
def claimed(path: Path, *, if_exists: IfExists) -> Iterator[list[str]]:
    """Lock the directory for this process; yields notices about what was in it."""
    check_claimable(path, if_exists)
    with locked_folder(path) as notices:
        _check_target(path, if_exists)  # again: another process may have begun and ended a run in between
        if if_exists == "overwrite":
            RunDirectory(path).erase()
        yield notices


def check_claimable(path: Path, if_exists: IfExists) -> None:
    """Refuse a directory that a run cannot be written into now; nothing is changed."""
    check_unlocked(path)
    _check_target(path, if_exists)


def refuse_link(folder: Path) -> None:
    """Refuse a link in the place of a folder of a run: its target must not be changed."""
    if folder.is_symlink():
        raise ResourceError(f"{folder.absolute()}: a link, but a run keeps its files in its own folder; remove it")


def flattened(settings: dict[str, Any]) -> dict[str, Any]:
    """Nested settings as one level, ``model.dropout`` and so on."""
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{name}": inner for name, inner in flattened(value).items()}
        else:
            flat[key] = value
    return flat


def free_directory(parent: Path, name: str) -> Path:
    """A new folder ``parent/name``, or ``name-2``, ``name-3``, ...; two processes at once get two folders."""
    candidates = (parent / (name if number == 1 else f"{name}-{number}") for number in range(1, 1_000_000))
    with reporting_write_errors(parent):
        parent.mkdir(parents=True, exist_ok=True)
        return next(path for path in candidates if _is_made(path))


def _is_made(path: Path) -> bool:
    try:
        path.mkdir()
    except FileExistsError:
        return False
    return True


def _both(stem: Path) -> list[Path]:
    return [stem.with_suffix(suffix) for suffix in (".json", ".safetensors")]


def _check_target(path: Path, if_exists: IfExists) -> None:
    if not path.exists():
        if if_exists == "resume":
            raise UsageError(f"{path}: nothing to resume, there is no such directory")
        return
    if not path.is_dir():
        raise UsageError(f"{path}: exists and is not a directory")
    holds_run = RunDirectory(path).holds_run
    if not holds_run and not all(map(_is_of_a_start, path.iterdir())):
        raise UsageError(f"{path}: is not empty and holds no run; choose another --out")
    if holds_run and if_exists == "refuse":
        raise UsageError(f"{path}: already holds a run; use --resume, --overwrite or another --out")


def _is_of_a_start(entry: Path) -> bool:
    """Was it written by a process that was killed before it had recorded anything?"""
    return entry.name == LOCK or entry.name != target_name(entry.name) == CONFIG


def _change(key: str, there: Any, now: Any) -> str:
    name, before, after = (brief(text, LONGEST_CHANGE) for text in (key, repr(there), repr(now)))
    return f"{name}: {before} there, {after} now"
