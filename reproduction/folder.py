"""The folder of a reproduction: which files are ours, and what can be read and rendered from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confgcn.exceptions import CorruptFileError, UsageError, brief
from confgcn.io.atomic_files import target_name, write_atomic
from confgcn.io.json_files import read_json
from confgcn.io.locks import LOCK
from reproduction.artefacts import ABOUT, ARTEFACTS, Artefact, artefacts_named
from reproduction.page import page
from reproduction.render import PARTS, pictures_of, texts_of
from reproduction.results import FILES

RUNS = "runs"  # runs that are not finished
PAGE = "results.md"
SUFFIXES = ("json", "md", "tex", "svg", "png")
TABLES = {files.table for files in FILES.values()}
LEGENDS = {files.legend for files in FILES.values()}
OURS = {LOCK, RUNS, PAGE, *TABLES, *LEGENDS, *(f"{name}.{suffix}" for name in ARTEFACTS for suffix in SUFFIXES)}


def check_folder(out: Path) -> None:
    """A folder can be used that is not there, holds results, or holds nothing that we do not write."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is not a directory")
    entries = {target_name(entry.name) for entry in out.iterdir()} if out.is_dir() else set()
    if not TABLES & entries and entries - OURS:
        raise UsageError(f"{out}: is not empty and holds no results; choose another --out")


def check_renderable(out: Path, artefacts: Mapping[str, Artefact]) -> None:
    """Is there everything that the numbers are made of?"""
    needed = {
        f"{name}.json" if row.is_examination else FILES[row.kind].table
        for name, row in artefacts.items()
        if name != ABOUT
    }
    missing = sorted(name for name in needed if not (out / name).is_file())
    if missing:
        raise UsageError(f"{out}: holds no {', '.join(missing)}; leave out --render-only to make them")


def read_report(folder: Path) -> dict[str, dict[str, Any]]:
    """The numbers of every table and figure that are in a folder, and what they were computed on."""
    files = {name: folder / f"{name}.json" for name in ARTEFACTS}
    return {name: read_json(file) for name, file in files.items() if file.is_file()}


def render(folder: Path, what: tuple[str, ...]) -> list[Path]:
    """Tables, pictures and the page of results from the numbers in the folder; returns the files.

    The page shows every table and figure whose numbers are there. What needs matplotlib comes last.
    """
    report = read_report(folder)
    names = [name for name in artefacts_named(what) if name in PARTS and name in report]
    with _of_this_version(folder):
        whole = page(report).encode()
    files = _written(folder, {PAGE: whole}.items())
    for draw in (texts_of, pictures_of):
        for name in names:
            with _of_this_version(folder):
                contents = draw(name, report[name])
            files += _written(folder, contents.items())
    return files


@contextmanager
def _of_this_version(folder: Path) -> Iterator[None]:
    """Numbers in a form that nothing is drawn from are those of another version, or damaged."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        problem = f"{folder}: holds numbers of another version ({brief(repr(error))})"
        raise CorruptFileError(f"{problem}; name its tables and figures to make them again") from None


def _written(folder: Path, contents: Iterable[tuple[str, bytes]]) -> list[Path]:
    files = []
    for name, content in contents:
        write_atomic(folder / name, content)
        files.append(folder / name)
    return files
