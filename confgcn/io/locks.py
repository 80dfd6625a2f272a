"""Lock a folder for one process at a time. The operating system releases the lock of a process that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from confgcn.exceptions import BusyError, ResourceError
from confgcn.io.atomic_files import open_without_following, reporting_write_errors

LOCK = "run.lock"
MOST_DIGITS = 20  # of the number of a process
UNKNOWN = "unknown"  # the process, where the lock does not name it


@contextmanager
def locked_folder(path: Path) -> Iterator[list[str]]:
    """Make the folder and lock it; yields a notice if a process has ended without releasing it."""
    with reporting_write_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    with reporting_write_errors(path / LOCK):
        lock = _open(path / LOCK, "a+")
    with lock:
        notices = _lock(lock, path)
        try:
            yield notices
        finally:
            lock.truncate(0)


def check_unlocked(path: Path) -> None:
    """Raise if another process has locked the folder."""
    if (path / LOCK).is_file():
        with _open(path / LOCK, "r+") as lock:
            _flock(lock, path)


def _open(file: Path, mode: str) -> IO[str]:
    return open(file, mode, encoding="utf-8", errors="replace", opener=open_without_following)


def _lock(lock: IO[str], path: Path) -> list[str]:
    _flock(lock, path)
    # A process empties the file when it releases the lock: text that is still there was left by one that was killed.
    previous = _owner(lock)
    if previous == UNKNOWN and os.fstat(lock.fileno()).st_nlink > 1:
        raise ResourceError(f"{(path / LOCK).absolute()}: a hard link to a file that is not a lock; remove it")
    with reporting_write_errors(path / LOCK):
        lock.truncate(0)
        os.write(lock.fileno(), str(os.getpid()).encode())  # not through the buffer, which would retry on closing
    return [f"took over from process {previous}, which ended without finishing"] if previous else []


def _flock(lock: IO[str], path: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError(f"{path}: in use by process {_owner(lock) or UNKNOWN}") from None


def _owner(lock: IO[str]) -> str:
    """The number of the process in the file; "" if it is empty."""
    lock.seek(0)
    text = lock.read(MOST_DIGITS).strip()
    return text if text.isdecimal() or not text else UNKNOWN
