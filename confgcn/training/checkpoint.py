"""Checkpoints: when the state of a training is saved, in which files, and how the newest one is found."""

from __future__ import annotations

import re
import time
from pathlib import Path

from confgcn.exceptions import CorruptFileError, StoppedError, brief
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.io.signals import STOP_SIGNALS, StopRequest
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.limits import MAX_SHARDS
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from confgcn.training.saved_state import State, joined_state, restore, state_of

KEEP = 2  # the newest, and the one before in case the newest is damaged
SECONDS_BETWEEN = 5.0
_NUMBERED = re.compile(r"epoch-\d+")


class StopOnSignal(Callback):
    """Stops a training whose state is not saved: during the setup at once, then after the epoch."""

    def __init__(self, request: StopRequest) -> None:
        self.request = request

    def on_setup(self, loop: TrainingLoop) -> None:
        self.request.raise_if_received()
        self.request.at_once = True  # a resumed run repeats the setup in any case

    def on_start(self, loop: TrainingLoop) -> None:
        self.request.at_once = False

    def on_epoch(self, loop: TrainingLoop) -> None:
        self.request.raise_if_received()


class Checkpointer(Callback):
    """Saves the state from time to time, and before a signal stops the training; keeps the last two checkpoints.

    Checkpoints are files in ``folder``, numbered by epoch. Each of several workers writes the state of its own nodes;
    when all have written, the first one writes a file that makes the checkpoint valid. The first worker decides when a
    checkpoint is due. A signal to one worker stops all.
    """

    def __init__(self, folder: Path, request: StopRequest, *, seconds_between: float = SECONDS_BETWEEN) -> None:
        self.folder = folder
        self.request = request
        self.seconds_between = seconds_between
        self.last_saved = time.monotonic()

    def on_setup(self, loop: TrainingLoop) -> None:
        self.request.raise_if_received()
        self.request.at_once = True

    def on_start(self, loop: TrainingLoop) -> None:
        self.request.at_once = False
        self._stop_if_requested(loop)

    def on_epoch(self, loop: TrainingLoop) -> None:
        self._stop_if_requested(loop)
        is_due = loop.group.rank == 0 and time.monotonic() - self.last_saved >= self.seconds_between
        if loop.group.sum([is_due])[0]:
            self._save(loop)

    def _stop_if_requested(self, loop: TrainingLoop) -> None:
        counts = loop.group.sum([self.request.received == number for number in STOP_SIGNALS])
        if any(counts):  # a signal may have reached some workers and not yet others
            self._save(loop)
            number = STOP_SIGNALS[counts.index(max(counts))]
            message = f"stopped by {number.name} after epoch {len(loop.history)}; the state is saved"
            raise StoppedError(message, number)

    def _save(self, loop: TrainingLoop) -> None:
        self.folder.mkdir(exist_ok=True)
        newest = self.folder / f"epoch-{len(loop.history):07d}"
        _write_state(newest, loop)
        for stem in _obsolete(self.folder, newest) if loop.group.rank == 0 else ():
            for file in (stem.with_suffix(".json"), *sorted(self.folder.glob(f"{stem.name}[.-]*"))):
                file.unlink(missing_ok=True)
        self.last_saved = time.monotonic()


def resume_from(folder: Path, loop: TrainingLoop) -> list[str]:
    """Load the newest checkpoint that is intact; returns a notice for each newer one that is not."""
    notices: list[str] = []
    for stem in reversed(_stems(folder)):
        try:
            restore(loop, *_read_state(stem, loop))
        except CorruptFileError as error:
            notices.append(f"skipped a damaged checkpoint, {stem.name}: {brief(error)}")
        else:
            _check_agreement(folder, loop)
            return notices
    if notices:
        raise CorruptFileError(
            f"{folder}: no checkpoint is intact ({'; '.join(notices)}); start again with --overwrite"
        )
    _check_agreement(folder, loop)
    return []


def _check_agreement(folder: Path, loop: TrainingLoop) -> None:
    """Raise if workers have loaded different checkpoints: they would train on without an error."""
    epoch = len(loop.history)
    if loop.group.sum([epoch])[0] != loop.group.size * epoch:
        raise CorruptFileError(
            f"{folder}: workers have loaded different checkpoints, this one that of epoch {epoch}; "
            "start again with --overwrite"
        )


def _write_state(stem: Path, loop: TrainingLoop) -> None:
    group = loop.group
    write_tensors(stem if group.size == 1 else _worker_stem(stem, group.rank), *state_of(loop))
    group.wait()
    if group.size > 1 and group.rank == 0:
        write_checksummed_json(stem.with_suffix(".json"), {"written_by": group.size})
    group.wait()


def _read_state(stem: Path, loop: TrainingLoop) -> State:
    """The saved state of the loop's nodes, however many workers have written it."""
    written_by = read_checksummed_json(stem.with_suffix(".json")).get("written_by", 1)
    if type(written_by) is not int or not 1 <= written_by <= MAX_SHARDS:
        raise CorruptFileError(f"{stem}.json: corrupt, written by {brief(repr(written_by))} workers")
    if written_by > 1:
        return joined_state((_read_worker(_worker_stem(stem, rank)) for rank in range(written_by)), state_of(loop))
    return read_tensors(stem) if loop.graph.shard is None else joined_state([read_tensors(stem)], state_of(loop))


def _read_worker(stem: Path) -> State:
    if not stem.with_suffix(".json").exists():  # skipped like a damaged one
        raise CorruptFileError(f"{stem}.json: missing")
    return read_tensors(stem)


def _worker_stem(stem: Path, rank: int) -> Path:
    return stem.with_name(f"{stem.name}-worker-{rank}")


def _obsolete(folder: Path, newest: Path) -> list[Path]:
    """Checkpoints before the last ones, and later ones, which were damaged and skipped."""
    stems = _stems(folder)
    position = stems.index(newest) + 1
    return stems[: max(0, position - KEEP)] + stems[position:]


def _stems(folder: Path) -> list[Path]:
    files = (path.with_suffix("") for path in folder.glob("epoch-*.json"))
    return sorted(stem for stem in files if _NUMBERED.fullmatch(stem.name))
