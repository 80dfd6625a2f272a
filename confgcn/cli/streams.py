"""Standard streams that cannot cost a run: a closed one leads nowhere, and a message that nobody hears is no error."""

from __future__ import annotations

import io
import os
import select
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from confgcn.exceptions import ResourceError

STDIN, STDOUT, STDERR = range(3)


def open_streams() -> None:
    """Replace the streams of this process by ones that say what became of an output, or do not mind."""
    for number in (STDIN, STDOUT, STDERR):
        _open_if_closed(number)
    sys.stdin = sys.stdin or open(STDIN, closefd=False)  # noqa: SIM115
    sys.stdout = _as_text(_Results(STDOUT, "wb", closefd=False), sys.stdout)
    sys.stderr = _as_text(_Messages(STDERR, "wb", closefd=False), sys.stderr)


class _Messages(io.FileIO):
    """For people: whether they are heard or not, the work goes on."""

    def write(self, content: Any, /) -> int:
        with suppress(OSError):
            return super().write(content) or len(content)  # None where a slow reader would have to be waited for
        return len(content)


class _Results(io.FileIO):
    """For programs: an output that cannot be had is said, but not to one who has stopped reading."""

    def write(self, content: Any, /) -> int:
        try:
            return self._write_when_possible(content)
        except BrokenPipeError:
            self._give_up(SystemExit(128 + signal.SIGPIPE))  # what a shell says of other programs in a pipe
        except OSError as error:
            self._give_up(ResourceError(f"cannot write to the standard output: {error.strerror}"))

    def _write_when_possible(self, content: Any) -> int:
        written: int | None
        while (written := super().write(content)) is None:  # a slow reader, and a pipe that does not wait by itself
            select.select([], [self], [])
        return written

    def _give_up(self, reason: BaseException) -> NoReturn:
        """What is still in the buffers goes nowhere, or it would fail again when the process ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        raise reason from None


def _open_if_closed(number: int) -> None:
    """The next file that is opened would take the place, and receive what is meant for the stream."""
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)


def _as_text(raw: io.FileIO, before: TextIO | None) -> TextIO:
    """Characters that the stream's encoding lacks are written as escapes."""
    encoding = before.encoding if before is not None else "utf-8"
    is_seen_at_once = raw.fileno() == STDERR or raw.isatty()
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding, "backslashreplace", line_buffering=is_seen_at_once)
