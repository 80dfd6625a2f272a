"""Everything that ConfGCN raises on purpose.

::

    ConfGCNError                     exit code
      UsageError (ValueError)            2   an option, a setting or a name that cannot be used
      DataError (ValueError)             3   an input file or array that cannot be used
        CorruptFileError                 3   a file of ours that is truncated, altered or of another version
      ResourceError (OSError)            4   a file, a permission, disk space or memory that is not there
      DivergedError (ArithmeticError)    5   training produced a number that is not finite
      UnsafeFileError (ValueError)       6   a file that would have to execute code to be read
      BusyError (RuntimeError)           7   another process is using the run directory
      StoppedError (RuntimeError)   128 + n  training was stopped by signal n and can be resumed
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_CHOICES = 100  # that an error lists
LONGEST_LIST = 500  # characters of them
LONGEST_TEXT = 200  # characters of a text from outside


class ConfGCNError(Exception):
    """Base of all errors raised on purpose; anything else is a bug."""

    exit_code = 1


class UsageError(ConfGCNError, ValueError):
    """An option, a setting or a name that cannot be used."""

    exit_code = 2


class DataError(ConfGCNError, ValueError):
    """An input file or array that cannot be used."""

    exit_code = 3


class CorruptFileError(DataError):
    """A file of ours that is truncated, altered or of another version."""


class ResourceError(ConfGCNError, OSError):
    """A file, a permission, disk space or memory that is not there."""

    exit_code = 4


class DivergedError(ConfGCNError, ArithmeticError):
    """Training produced a number that is not finite."""

    exit_code = 5


class UnsafeFileError(ConfGCNError, ValueError):
    """A file that would have to execute code to be read."""

    exit_code = 6


class BusyError(ConfGCNError, RuntimeError):
    """Another process is using the run directory."""

    exit_code = 7


class StoppedError(ConfGCNError, RuntimeError):
    """Training was stopped by a signal and can be resumed."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number


def brief(text: object, longest: int = LONGEST_TEXT) -> str:
    """What a file or another library says, in an error: on one line, of a long text the beginning."""
    line = " ".join(str(text).split())
    return line if len(line) <= longest else f"{line[:longest]}..."


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that is not in a table: what came, what is near it, what there is."""
    choices = sorted(known)
    near = difflib.get_close_matches(name[:LONGEST_TEXT], choices, n=1)
    hint = f"did you mean {brief(repr(near[0]))}? " if near else ""
    listing = brief(", ".join(choices[:MOST_CHOICES]), LONGEST_LIST)
    more = f", ... ({len(choices):,} in all)" if len(choices) > MOST_CHOICES else ""
    return UsageError(f"unknown {kind} {brief(repr(name))}: {hint}choose from {listing}{more}")


def check_choice(kind: str, name: str, known: Iterable[str]) -> None:
    """Raise the error of :func:`unknown_name` unless the name is known."""
    known = list(known)
    if name not in known:
        raise unknown_name(kind, str(name), known)
