"""Write files and folders that are complete or absent: under a temporary name, which is changed at the end."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from confgcn.exceptions import ResourceError

Block = bytes | memoryview

_TEMPORARY = re.compile(r"(.+?)(\.\d+)?\.tmp")


def write_atomic(path: Path, content: bytes) -> None:
    """Write one file. After a crash there is the old file or the new one, never an incomplete one."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files that are useless without each other: none is renamed before all are written."""
    _write_all({path: (content,) for path, content in contents.items()})


def write_blocks(path: Path, blocks: Iterable[Block]) -> str:
    """Write one file too large for memory, block by block; returns its SHA-256."""
    hashed = hashlib.sha256()
    _write_all({path: _hashing(blocks, hashed)})
    return hashed.hexdigest()


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """A folder to write to, which becomes ``path`` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = temporary_path(path)
    for old in (folder, *abandoned_temporaries(path)):
        shutil.rmtree(old, ignore_errors=True)
    try:
        folder.mkdir()
        yield folder
        _replace_folder(folder, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def temporary_path(path: Path) -> Path:
    """Where this process writes what becomes ``path``. Two processes that write the same file do not collide."""
    return path.with_name(f"{path.name}.{os.getpid()}.tmp")


def target_name(name: str) -> str:
    """The name that a temporary file was meant to get; any other name is returned unchanged."""
    match = _TEMPORARY.fullmatch(name)
    return match[1] if match else name


def abandoned_temporaries(path: Path) -> list[Path]:
    """The temporary files of ``path`` that killed processes have left."""
    matches = {file: _TEMPORARY.fullmatch(file.name) for file in path.parent.iterdir()}
    ours = {file: match[2] for file, match in matches.items() if match and match[1] == path.name and match[2]}
    return [file for file, process in ours.items() if not _is_running(int(process[1:]))]


def open_without_following(path: str, flags: int) -> int:
    """An opener for files that are written: a symbolic link is refused, because its target is not ours to change."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


@contextmanager
def reporting_write_errors(path: Path) -> Iterator[None]:
    """Within, an error of the operating system becomes a ``ResourceError`` that names the path."""
    try:
        yield
    except OSError as error:
        raise ResourceError(f"cannot write to {path.absolute()}: {error.strerror or error}") from None


def _write_all(contents: Mapping[Path, Iterable[Block]]) -> None:
    try:
        for path, blocks in contents.items():
            with suppress(OSError):
                for file in abandoned_temporaries(path):
                    file.unlink(missing_ok=True)
            _write_to_disk(temporary_path(path), blocks)
        for path in contents:
            _check_replaceable(path)
        for path in contents:
            temporary_path(path).replace(path)
    except OSError as error:
        raise ResourceError(f"could not write {path.absolute()}: {error.strerror or error}") from None
    finally:
        for path in contents:
            with suppress(OSError):
                temporary_path(path).unlink()  # exists only after an error, or a signal that stopped the process


def _write_to_disk(path: Path, blocks: Iterable[Block]) -> None:
    with open(path, "wb", opener=open_without_following) as stream:
        for block in blocks:
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())


def _replace_folder(folder: Path, path: Path) -> None:
    """Folders cannot be exchanged in one step: between two renames there is none, but never an incomplete one."""
    if path.is_dir() and any(path.iterdir()):
        old = temporary_path(path.with_name(f"{path.name}.old"))
        path.rename(old)
        try:
            folder.rename(path)
        except BaseException:
            old.rename(path)
            raise
        shutil.rmtree(old, ignore_errors=True)
    else:
        folder.rename(path)
    parent = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


def _check_replaceable(path: Path) -> None:
    """Renaming would replace a link or a device, such as /dev/null, by a file."""
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise OSError("the path is not a regular file, but a folder, a link or a device")


def _hashing(blocks: Iterable[Block], hashed: Any) -> Iterator[Block]:
    for block in blocks:
        hashed.update(block)
        yield block


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # a process of another user, or a number that no process has
        return True
    return True
