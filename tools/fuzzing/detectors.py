"""Detectors of what a reader must not do."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confgcn.exceptions import ConfGCNError

MOST_SECONDS = 10.0  # of the processor, so that other work on the machine makes no fault
LONGEST_MESSAGE = 1_000
REFUSALS = (2, 3, 4, 6)  # exit codes: usage, data, resources, unsafe
EXECUTIONS = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.",
    "socket.",
    "pickle.find_class",
    "ctypes.",
)


def message_fault(error: ConfGCNError, name: str, folder: Path) -> tuple[str, str]:
    """The fault of an error message about the file of that name, as kind and detail; empty if there is none."""
    message = str(error)
    if error.exit_code not in REFUSALS:
        return "exit code", f"{error.exit_code}: {message}\n{traceback.format_exc()}"
    if len(message) > LONGEST_MESSAGE:
        return "long message", f"{len(message)} characters: {message[:300]}\n{traceback.format_exc()}"
    if "\n" in message:
        return "lines in message", f"{message}\n{traceback.format_exc()}"
    if Path(name).name not in message and str(folder) not in message:
        return "file not named", f"{message}\n{traceback.format_exc()}"
    return "", ""


class TooLongError(BaseException):
    """Not an Exception, so that no reader handles it as a damaged file."""


@contextmanager
def alarmed() -> Iterator[None]:
    """Interrupt Python code that takes too long; other code is killed by the parent process."""
    signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _ring(number: int, frame: Any) -> None:
    raise TooLongError


_deeds: list[str] = []
_watching: list[frozenset[str]] = []  # the files that may be written, while a reader is at work


@contextmanager
def watched(may_write: frozenset[str]) -> Iterator[list[str]]:
    """Audit events of programs started, connections made, globals unpickled and files opened to write."""
    if not _hooked:
        sys.addaudithook(_note)
        _hooked.append(True)
    _deeds.clear()
    _watching.append(may_write)
    try:
        yield _deeds
    finally:
        _watching.clear()


_hooked: list[bool] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event.startswith(EXECUTIONS):
        _deeds.append(f"{event} {arguments!r:.200}")
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        name = Path(str(arguments[0])).name
        _deeds.extend([] if name in _watching[-1] else [f"opened {arguments[0]!r} to write"])
