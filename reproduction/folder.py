"""The folder of a reproduction: the files it may hold, and rendering from the numbers in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confgcn.exceptions import CorruptFileError, UsageError, brief
from confgcn.io.atomic_files import target_name, write_atomic
from confgcn.io.json_files import read_json
from confgcn.io.locks import LOCK
from reproduction.artefacts import ARTEFACTS, Artefact, artefacts_named
from reproduction.jobs import Kind
from reproduction.page import page
from reproduction.results import FILES

ABOUT = "about"  # the number of runs, their dates and environments
RUNS = "runs"  # unfinished runs
PAGE = "results.md"
SUFFIXES = ("json", "md", "tex", "svg", "png")
TABLES = {files.table for files in FILES.values()}
LEGENDS = {files.legend for files in FILES.values()}
NUMBERS = (*ARTEFACTS, ABOUT)
OWN_FILES = {LOCK, RUNS, PAGE, *TABLES, *LEGENDS, *(f"{name}.{suffix}" for name in NUMBERS for suffix in SUFFIXES)}


def check_folder(out: Path) -> None:
    """Refuse a folder that holds no results but files that this program does not write."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out}: exists and is not a directory")
    entries = {target_name(entry.name) for entry in out.iterdir()} if out.is_dir() else set()
    if not TABLES & entries and entries - OWN_FILES:
        raise UsageError(f"{out}: is not empty and holds no results; choose another --out")


def check_renderable(out: Path, artefacts: Sequence[Artefact], *, validation_only: bool = False) -> None:
    """Refuse a folder without the files that the numbers are computed from."""
    kinds: dict[str, Kind] = {row.name: "validation" if validation_only else row.kind for row in artefacts}
    needed = {f"{row.name}.json" if row.jobs is None else FILES[kinds[row.name]].table for row in artefacts}
    missing = sorted(name for name in needed if not (out / name).is_file())
    if missing:
        raise UsageError(f"{out}: holds no {', '.join(missing)}; leave out --render-only to create them")


def read_report(folder: Path) -> dict[str, dict[str, Any]]:
    """The numbers of every table and figure in a folder, and those about the runs, by name."""
    files = {name: folder / f"{name}.json" for name in NUMBERS}
    return {name: read_json(file) for name, file in files.items() if file.is_file()}


def render(folder: Path, names: tuple[str, ...]) -> list[Path]:
    """Write tables, pictures and the results page from the numbers in the folder; returns the files.

    The page shows every table and figure whose numbers are present. Pictures, which need matplotlib, come last.
    """
    report = read_report(folder)
    artefacts = [row for row in artefacts_named(names) if row.name in report]
    with _reading(folder):
        content = page(report).encode()
    files = _written(folder, {PAGE: content}.items())
    for render_one in (Artefact.texts, Artefact.pictures):
        for artefact in artefacts:
            with _reading(folder):
                contents = render_one(artefact, report[artefact.name])
            files += _written(folder, contents.items())
    return files


@contextmanager
def _reading(folder: Path) -> Iterator[None]:
    """Report numbers of an unexpected form: another version wrote them, or they are corrupt."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        problem = f"{folder}: holds numbers of another version ({brief(repr(error))})"
        raise CorruptFileError(f"{problem}; run confgcn reproduce again with their names") from None


def _written(folder: Path, contents: Iterable[tuple[str, bytes]]) -> list[Path]:
    files = []
    for name, content in contents:
        write_atomic(folder / name, content)
        files.append(folder / name)
    return files
