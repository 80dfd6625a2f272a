"""Standard streams: a closed one is replaced, and a message that cannot be written is dropped."""

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
    """Replace the streams of this process: results that cannot be written are an error, messages are not."""
    for number in (STDIN, STDOUT, STDERR):
        _open_if_closed(number)
    sys.stdin = sys.stdin or open(STDIN, closefd=False)  # noqa: SIM115
    sys.stdout = _as_text(_Results(STDOUT, "wb", closefd=False), sys.stdout)
    sys.stderr = _as_text(_Messages(STDERR, "wb", closefd=False), sys.stderr)


class _Messages(io.FileIO):
    """stderr, for people: errors of writing are ignored."""

    def write(self, content: Any, /) -> int:
        with suppress(OSError):
            return super().write(content) or len(content)  # None if it would have to wait for a slow reader
        return len(content)


class _Results(io.FileIO):
    """stdout, for programs: an error of writing ends the command; silently if the reader has closed the pipe."""

    def write(self, content: Any, /) -> int:
        try:
            return self._write_when_possible(content)
        except BrokenPipeError:
            self._discard_and_raise(SystemExit(128 + signal.SIGPIPE))  # as a shell reports of other programs in a pipe
        except OSError as error:
            self._discard_and_raise(ResourceError(f"cannot write to the standard output: {error.strerror}"))

    def _write_when_possible(self, content: Any) -> int:
        written: int | None
        while (written := super().write(content)) is None:  # a non-blocking pipe whose reader is slow
            select.select([], [self], [])
        return written

    def _discard_and_raise(self, reason: BaseException) -> NoReturn:
        """Send what is still buffered to /dev/null, or it would fail again when the process ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        raise reason from None


def _open_if_closed(number: int) -> None:
    """Otherwise the next file that is opened would get this number and receive the output of the stream."""
    try:
        os.fstat(number)
    except OSError:
        os.open(os.devnull, os.O_RDWR)


def _as_text(raw: io.FileIO, before: TextIO | None) -> TextIO:
    """Characters that the stream's encoding lacks are written as escapes."""
    encoding = before.encoding if before is not None else "utf-8"
    is_line_buffered = raw.fileno() == STDERR or raw.isatty()
    buffered = io.BufferedWriter(raw)
    return io.TextIOWrapper(buffered, encoding, "backslashreplace", line_buffering=is_line_buffered)
