"""Save the loop's state from time to time and when asked to stop, and find it again."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path

from confgcn.exceptions import CorruptFileError, StoppedError, brief
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.io.signals import StopRequest
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.limits import MAX_PARTS
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from confgcn.training.state_rows import State, joined_state

KEEP = 2  # the newest, and the one before it should the newest be damaged
SECONDS_BETWEEN = 5.0
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # of which one may have reached some processes, and not yet all
_NUMBERED = re.compile(r"epoch-\d+")


class StopInSetup(Callback):
    """Does not wait for the end of work ahead of the first step, which a resumed run does again in any case."""

    def __init__(self, request: StopRequest) -> None:
        self.request = request

    def on_setup(self, loop: TrainingLoop) -> None:
        _stop_if_asked(self.request)
        self.request.at_once = True

    def on_start(self, loop: TrainingLoop) -> None:
        self.request.at_once = False


class StopWhenAsked(Callback):
    """Ends a training whose state is not worth keeping."""

    def __init__(self, request: StopRequest) -> None:
        self.request = request

    def on_epoch(self, loop: TrainingLoop) -> None:
        _stop_if_asked(self.request)


class Checkpointer(Callback):
    """Keeps the last checkpoints of a run in ``folder``, numbered by epoch.

    Where several processes train together each writes what it holds, and the first one, when all have written, a
    file that says so. It also decides when it is time; a stop that is asked of one is asked of all.
    """

    def __init__(self, folder: Path, request: StopRequest, *, seconds_between: float = SECONDS_BETWEEN) -> None:
        self.folder = folder
        self.request = request
        self.seconds_between = seconds_between
        self.last_saved = time.monotonic()

    def on_start(self, loop: TrainingLoop) -> None:
        self._stop_if_asked(loop)

    def on_epoch(self, loop: TrainingLoop) -> None:
        self._stop_if_asked(loop)
        is_due = loop.group.rank == 0 and time.monotonic() - self.last_saved >= self.seconds_between
        if loop.group.add([is_due])[0]:
            self._save(loop)

    def _stop_if_asked(self, loop: TrainingLoop) -> None:
        asked = loop.group.add([float(self.request.received == number) for number in STOPS])
        if any(asked):
            self._save(loop)
            number = STOPS[asked.index(max(asked))]
            message = f"stopped by {number.name} after epoch {len(loop.history)}; the state is saved"
            raise StoppedError(message, number)

    def _save(self, loop: TrainingLoop) -> None:
        self.folder.mkdir(exist_ok=True)
        newest = self.folder / f"epoch-{len(loop.history):07d}"
        _write_state(newest, loop)
        for stem in _superfluous(self.folder, newest) if loop.group.rank == 0 else ():
            for file in (stem.with_suffix(".json"), *sorted(self.folder.glob(f"{stem.name}[.-]*"))):
                file.unlink(missing_ok=True)
        self.last_saved = time.monotonic()


def resume_from(folder: Path, loop: TrainingLoop) -> list[str]:
    """Load the newest checkpoint that is whole; returns a notice for each newer one that was not."""
    notices: list[str] = []
    for stem in reversed(_stems(folder)):
        try:
            loop.load_state(*_read_state(stem, loop))
        except CorruptFileError as error:
            notices.append(f"skipped a damaged checkpoint, {stem.name}: {brief(error)}")
        else:
            _check_agreement(folder, loop)
            return notices
    if notices:
        raise CorruptFileError(f"{folder}: no checkpoint is whole ({'; '.join(notices)}); start again with --overwrite")
    _check_agreement(folder, loop)
    return []


def _check_agreement(folder: Path, loop: TrainingLoop) -> None:
    """Processes that have found different checkpoints would train on without noticing."""
    epoch = len(loop.history)
    if loop.group.add([epoch])[0] != loop.group.size * epoch:
        raise CorruptFileError(f"{folder}: workers have found different checkpoints, this one that of epoch {epoch}")


def _stop_if_asked(request: StopRequest) -> None:
    if request.received is not None:
        raise StoppedError(f"stopped by {signal.Signals(request.received).name}", request.received)


def _write_state(stem: Path, loop: TrainingLoop) -> None:
    group = loop.group
    write_tensors(stem if group.size == 1 else _part(stem, group.rank), *loop.state())
    group.wait()
    if group.size > 1 and group.rank == 0:
        write_checksummed_json(stem.with_suffix(".json"), {"written_by": group.size})
    group.wait()


def _read_state(stem: Path, loop: TrainingLoop) -> State:
    """What belongs to the loop's nodes, whoever has written it."""
    written_by = read_checksummed_json(stem.with_suffix(".json")).get("written_by", 1)
    if type(written_by) is not int or not 1 <= written_by <= MAX_PARTS:
        raise CorruptFileError(f"{stem}.json: corrupt, written by {brief(repr(written_by))} processes")
    if written_by > 1:
        return joined_state((_read_part(_part(stem, rank)) for rank in range(written_by)), loop.state())
    return read_tensors(stem) if loop.graph.shard is None else joined_state([read_tensors(stem)], loop.state())


def _read_part(stem: Path) -> State:
    if not stem.with_suffix(".json").exists():  # one that is missing is passed over like one that is damaged
        raise CorruptFileError(f"{stem}.json: missing")
    return read_tensors(stem)


def _part(stem: Path, rank: int) -> Path:
    return stem.with_name(f"{stem.name}-part-{rank}")


def _superfluous(folder: Path, newest: Path) -> list[Path]:
    """Those before the last ones, and later ones, which were damaged and passed over."""
    stems = _stems(folder)
    place = stems.index(newest) + 1
    return stems[: max(0, place - KEEP)] + stems[place:]


def _stems(folder: Path) -> list[Path]:
    files = (path.with_suffix("") for path in folder.glob("epoch-*.json"))
    return sorted(stem for stem in files if _NUMBERED.fullmatch(stem.name))
