"""Accepted folders, and reading and rendering the numbers in one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confgcn.exceptions import CorruptFileError, UsageError
from confgcn.io.json_files import to_json
from reproduction.artefacts import ARTEFACTS, artefacts_named
from reproduction.folder import NUMBERS, check_folder, check_renderable, read_report, render

CELL = {"mean": 0.5, "std": None, "runs": 1, "diverged": 0}
NOTHING: dict[str, Any] = {"runs": 0, "dates": [], "environments": []}
PRESETS: dict[str, Any] = {"datasets": ["demo"], "limits": [{"title": "both", "cells": {"demo": CELL}}], "others": []}
OVERVIEW: dict[str, Any] = {
    "datasets": {"demo": {"learned": CELL, "uniform": None}},
    "mean_probability": [],
    "accuracy": [],
}


@pytest.fixture
def folder_with(tmp_path: Path) -> Callable[..., Path]:
    """A folder that holds files of these names."""

    def make(*names: str) -> Path:
        for name in names:
            (tmp_path / name).write_text("{}")
        return tmp_path

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the numbers of two tables."""
    for name, numbers in {"about": NOTHING, "overview": OVERVIEW, "presets": PRESETS}.items():
        (tmp_path / f"{name}.json").write_bytes(to_json(numbers))
    return tmp_path


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("settings.json",),
        ("run.lock",),
        ("figure1.json", "figure1.md", "figure1.tex", "figure1.svg", "figure1.png"),
        ("about.json", "overview.json", "results.md"),
        ("table2.json.tmp",),
        ("results.csv", "settings.json", "thesis.tex"),
    ],
    ids=["empty", "settings", "lock", "files of one figure", "the page", "cut off while it was written", "results"],
)
def test_a_folder_with_results_or_only_own_files_is_accepted(
    folder_with: Callable[..., Path], names: tuple[str, ...]
) -> None:
    folder = folder_with(*names)
    (folder / "runs").mkdir()
    check_folder(folder)


@pytest.mark.parametrize(
    "names",
    [
        ("thesis.tex",),
        ("settings.json", "thesis.tex"),
        ("about.json", "about.html"),
        ("figure5.json",),
        ("table1.csv",),
        ("results.csv.old",),
    ],
    ids=["a thesis", "a thesis with settings", "a site", "another figure", "another format", "a copy"],
)
def test_a_folder_with_other_files_is_refused(folder_with: Callable[..., Path], names: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="is not empty and holds no results; choose another --out"):
        check_folder(folder_with(*names))


def test_a_missing_folder_is_accepted_and_a_file_is_refused(tmp_path: Path) -> None:
    check_folder(tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="file: exists and is not a directory"):
        check_folder(tmp_path / "file")


@pytest.mark.parametrize(
    ("what", "there", "missing"),
    [
        (("table2",), ("results.csv",), None),
        (("table2",), ("table2.json",), "results.csv"),
        (("table1",), ("table1.json",), None),
        (("table1",), ("results.csv",), "table1.json"),
        (("figure1", "claims"), (), "figure1.json, results.csv"),
        (("all",), ("figure1.json", "results.csv"), "table1.json"),
        (("overview",), (), "results.csv"),
    ],
)
def test_rendering_needs_the_recorded_runs_or_numbers(
    folder_with: Callable[..., Path], what: tuple[str, ...], there: tuple[str, ...], missing: str | None
) -> None:
    folder, artefacts = folder_with(*there), artefacts_named(what)
    if missing is None:
        check_renderable(folder, artefacts)
        return
    with pytest.raises(UsageError, match=rf"holds no {missing}; leave out --render-only to create them"):
        check_renderable(folder, artefacts)


def test_a_report_holds_the_numbers_that_are_present(folder: Path) -> None:
    (folder / "settings.json").write_text("{}")
    assert read_report(folder) == {"overview": OVERVIEW, "presets": PRESETS, "about": NOTHING}
    for name in NUMBERS:
        (folder / f"{name}.json").write_text("{}")
    assert list(read_report(folder)) == list(NUMBERS)


def test_a_corrupt_file_of_numbers_is_named(folder: Path) -> None:
    (folder / "table1.json").write_text("{")
    with pytest.raises(CorruptFileError, match=r"table1\.json: corrupt"):
        read_report(folder)


def test_selected_artefacts_are_rendered_and_the_page_shows_all_present(folder: Path) -> None:
    files = render(folder, ("presets", "table2"))
    assert [file.name for file in files] == ["results.md", "presets.md", "presets.tex"]
    assert all(file.parent == folder and file.stat().st_size for file in files)
    page = (folder / "results.md").read_text()
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    assert heads[1:] == [f"## {ARTEFACTS[name].title}" for name in ("overview", "presets")]
    assert not (folder / "overview.md").exists()


def test_pictures_come_after_all_tables(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    names = [file.name for file in render(folder, ("overview", "presets"))]
    assert names == [
        "results.md",
        "overview.md",
        "overview.tex",
        "presets.md",
        "presets.tex",
        "overview.svg",
        "overview.png",
    ]
    assert {path.name for path in folder.iterdir()} == {*names, "about.json", "overview.json", "presets.json"}
    check_folder(folder)


def test_numbers_of_another_version_are_reported(tmp_path: Path) -> None:
    (tmp_path / "about.json").write_text('{"runs": 0}')
    (tmp_path / "figure3.json").write_text('{"lines": []}')
    with pytest.raises(CorruptFileError, match="another version"):
        render(tmp_path, ("figure3",))


@pytest.mark.parametrize(
    "numbers",
    [
        {**PRESETS, "limits": 5},
        {**PRESETS, "limits": [{"title": 7, "cells": {"demo": CELL}}]},
        {**PRESETS, "limits": [{"title": "both", "cells": {"demo": {**CELL, "mean": "x"}}}]},
        {**PRESETS, "datasets": {}, "limits": [[]]},
    ],
    ids=["a number", "a title that is no text", "a mean that is no number", "lists"],
)
def test_numbers_of_an_unexpected_form_are_reported(folder: Path, numbers: dict[str, Any]) -> None:
    (folder / "presets.json").write_bytes(to_json(numbers))
    before = sorted(file.name for file in folder.iterdir())
    with pytest.raises(
        CorruptFileError, match=rf"{folder}: holds numbers of another version \(.*run confgcn reproduce again"
    ):
        render(folder, ("presets",))
    assert sorted(file.name for file in folder.iterdir()) == before
