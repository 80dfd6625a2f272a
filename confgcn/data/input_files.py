"""The files that a graph is read from: regular files that do not change while they are read, found and named."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confgcn.exceptions import ConfGCNError, DataError, ResourceError, UsageError

KINDS = {
    stat.S_IFDIR: "a folder; name a file in it",
    stat.S_IFIFO: "a pipe; write its content to a file",
    stat.S_IFCHR: "a device; write its content to a file",
    stat.S_IFBLK: "a device; write its content to a file",
    stat.S_IFSOCK: "a socket; write its content to a file",
}

COMPRESSED_SUFFIXES = (".gz", ".bz2", ".xz")

SCARCE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO}

State = tuple[int, ...]


@contextmanager
def unchanged(paths: Iterable[Path]) -> Iterator[None]:
    """Refuse files that change inside the block, and pipes and devices, which could be read for ever."""
    before = {path: _state(path) for path in paths}
    try:
        yield
    finally:  # a change also explains any other error
        changed = next((path for path, state in before.items() if _state(path) != state), None)
        if changed is not None:
            raise ResourceError(f"{changed.absolute()}: changed while it was read; try again when nothing writes to it")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors inside the block name the file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, ConfGCNError) or error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from None
    except (DataError, UsageError) as error:
        if str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from None


def is_machine_error(error: Exception) -> bool:
    """Whether memory or open files ran out or the disk failed, so that the file itself may be valid."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in SCARCE)


def find_file(folder: Path, stem: str, suffixes: Sequence[str]) -> Path | None:
    """The one file in a folder with that stem and one of the suffixes, compressed or not; None where there is none."""
    files = [file for file in sorted(folder.iterdir()) if stem_of(file) == stem and suffix_of(file) in suffixes]
    if len(files) > 1:
        raise DataError(f"{folder}: which one is it: {' or '.join(file.name for file in files)}? Remove the other")
    return files[0] if files else None


def suffix_of(path: Path) -> str:
    """The suffix in lower case, without that of a compression."""
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() not in COMPRESSED_SUFFIXES), "")


def stem_of(path: Path) -> str:
    """The name without any suffix."""
    return path.absolute().name.partition(".")[0] or "graph"


def _state(path: Path) -> State:
    _check_name(path)
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ResourceError(f"{path.absolute()}: expected a file, found {KINDS[stat.S_IFMT(status.st_mode)]}")
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _check_name(path: Path) -> None:
    if "\0" in str(path):
        raise UsageError(f"{path}: the name of a file cannot hold the character NUL")
    try:
        str(path.absolute()).encode()
    except UnicodeEncodeError:
        raise ResourceError(f"{path.absolute()}: the name is not UTF-8 text; rename the file or its folder") from None
