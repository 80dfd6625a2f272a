"""Write a folder of files that is there when it is whole, as files are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confgcn.data.input_files import naming
from confgcn.io.atomic_files import abandoned_temporaries, temporary_path


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to write to, which becomes ``path`` when all is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = temporary_path(path)
    for old in (folder, *abandoned_temporaries(path)):
        shutil.rmtree(old, ignore_errors=True)
    try:
        folder.mkdir()
        yield folder
        with naming(path):
            _move(folder, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _move(folder: Path, path: Path) -> None:
    """Two renames where there is an old one: between them there is none, but never a part."""
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
