"""Save the loop's state from time to time and when asked to stop, and find it again."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from confgcn.exceptions import CorruptFileError, StoppedError, brief
from confgcn.files import read_tensors, write_tensors
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop
from confgcn.training.signals import StopRequest

KEEP = 2  # the newest, and the one before it should the newest be damaged
SECONDS_BETWEEN = 5.0


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
    """Keeps the last checkpoints of a run in ``folder``, numbered by epoch."""

    def __init__(self, folder: Path, request: StopRequest, *, seconds_between: float = SECONDS_BETWEEN) -> None:
        self.folder = folder
        self.request = request
        self.seconds_between = seconds_between
        self.last_saved = time.monotonic()

    def on_start(self, loop: TrainingLoop) -> None:
        self._stop_if_asked(loop)

    def on_epoch(self, loop: TrainingLoop) -> None:
        self._stop_if_asked(loop)
        if time.monotonic() - self.last_saved >= self.seconds_between:
            self._save(loop)

    def _stop_if_asked(self, loop: TrainingLoop) -> None:
        stopped = self.request.received
        if stopped is not None:
            self._save(loop)
            name = signal.Signals(stopped).name
            raise StoppedError(f"stopped by {name} after epoch {len(loop.history)}; the state is saved", stopped)

    def _save(self, loop: TrainingLoop) -> None:
        self.folder.mkdir(exist_ok=True)
        newest = self.folder / f"epoch-{len(loop.history):07d}"
        write_tensors(newest, *loop.state())
        for stem in _superfluous(self.folder, newest):
            stem.with_suffix(".json").unlink()
            stem.with_suffix(".safetensors").unlink(missing_ok=True)
        self.last_saved = time.monotonic()


def resume_from(folder: Path, loop: TrainingLoop) -> list[str]:
    """Load the newest checkpoint that is whole; returns a notice for each newer one that was not."""
    notices: list[str] = []
    for stem in reversed(_stems(folder)):
        try:
            loop.load_state(*read_tensors(stem))
        except CorruptFileError as error:
            notices.append(f"skipped a damaged checkpoint, {stem.name}: {brief(error)}")
        else:
            return notices
    if notices:
        raise CorruptFileError(f"{folder}: no checkpoint is whole ({'; '.join(notices)}); start again with --overwrite")
    return []


def _stop_if_asked(request: StopRequest) -> None:
    if request.received is not None:
        raise StoppedError(f"stopped by {signal.Signals(request.received).name}", request.received)


def _superfluous(folder: Path, newest: Path) -> list[Path]:
    """Those before the last ones, and later ones, which were damaged and passed over."""
    stems = _stems(folder)
    place = stems.index(newest) + 1
    return stems[: max(0, place - KEEP)] + stems[place:]


def _stems(folder: Path) -> list[Path]:
    return sorted(path.with_suffix("") for path in folder.glob("epoch-*.json"))
