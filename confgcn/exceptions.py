"""All errors that ConfGCN raises on purpose; any other exception is a bug.

::

    ConfGCNError                            exit code
    ├── UsageError (ValueError)                 2      an option, a setting or a name that cannot be used
    ├── DataError (ValueError)                  3      an input file or array that cannot be used
    │   └── CorruptFileError                    3      a file of ours that is truncated, altered or of another version
    ├── ResourceError (OSError)                 4      a file, a permission, disk space or memory that is missing
    ├── DivergedError (ArithmeticError)         5      training produced a number that is not finite
    ├── UnsafeFileError (ValueError)            6      a file that can only be read by executing code in it
    ├── BusyError (RuntimeError)                7      another process uses the run directory
    └── StoppedError (RuntimeError)          128 + n   training was stopped by signal n and can be resumed

The command line exits with these codes, and with 0 after success. ``ResultWarning`` is a warning, not an error.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MOST_CHOICES = 100  # listed in an error
LONGEST_LIST = 500  # characters of that list
LONGEST_TEXT = 200  # characters of a text from elsewhere in an error


class ConfGCNError(Exception):
    """Base of all errors raised on purpose."""

    exit_code = 1


class UsageError(ConfGCNError, ValueError):
    """An option, a setting or a name that cannot be used."""

    exit_code = 2


class DataError(ConfGCNError, ValueError):
    """An input file or array that cannot be used."""

    exit_code = 3


class CorruptFileError(DataError):
    """A file of a run that is truncated, altered or of another version."""


class ResourceError(ConfGCNError, OSError):
    """A file, a permission, disk space or memory that is missing."""

    exit_code = 4


class DivergedError(ConfGCNError, ArithmeticError):
    """Training produced a number that is not finite."""

    exit_code = 5


class UnsafeFileError(ConfGCNError, ValueError):
    """A file that can only be read by executing code in it."""

    exit_code = 6


class BusyError(ConfGCNError, RuntimeError):
    """Another process uses the run directory."""

    exit_code = 7


class StoppedError(ConfGCNError, RuntimeError):
    """Training was stopped by a signal and can be resumed."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.signal_number = signal_number
        self.exit_code = 128 + signal_number


class ResultWarning(UserWarning):
    """A result that a user should check, such as one class predicted for every node."""


def brief(text: object, longest: int = LONGEST_TEXT) -> str:
    """A text from a file or another library for an error message: on one line, truncated."""
    line = " ".join(str(text).split())
    return line if len(line) <= longest else f"{line[:longest]}..."


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """The error for a name that is not known, with the nearest known name and all known ones."""
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
