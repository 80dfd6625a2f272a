"""The results page shows the numbers that are present."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.artefacts import ARTEFACTS
from reproduction.page import page

ABOUT = {
    "runs": 1234,
    "dates": ["2026-11-15", "2026-11-16"],
    "environments": [
        {
            "python": "3.11.9",
            "versions": {"torch": "2.13.0", "confgcn": "0.1.0"},
            "system": "Linux x86_64",
            "processor": "Abacus",
            "cores": 2,
            "kernels": "compiled",
        }
    ],
}


def accuracy(runs: int) -> dict[str, Any]:
    return {"mean": 0.5, "std": 0.01, "runs": runs, "diverged": 0}


def table2(*runs: int) -> dict[str, Any]:
    cells = {
        f"graph{place}": {"published": None, "accuracy": accuracy(n), "processor_seconds": 1.0, "difference": None}
        for place, n in enumerate(runs)
    }
    row = {"title": "Kipf-GCN", "method": "gcn", "is_reference": False, "cells": {**cells, "demo": None}}
    return {"datasets": [*cells, "demo"], "rows": [row]}


FIGURE2 = {
    "datasets": {"demo": [{"title": "GAT", "entropy": [accuracy(2)] * 4, "degree": [accuracy(2)] * 4}]},
}
OVERVIEW: dict[str, Any] = {
    "datasets": {"demo": {"learned": accuracy(2), "uniform": None}},
    "mean_probability": [],
    "accuracy": [],
}


def sections(text: str) -> dict[str, str]:
    """By their titles."""
    return {section.partition("\n")[0]: section for section in text.split("\n## ")[1:]}


def test_a_section_has_its_title_its_note_and_its_tables_with_their_captions() -> None:
    report = {"about": ABOUT, "table2": table2(10), "figure2": FIGURE2, "overview": OVERVIEW}
    found = sections(page(report))
    for name in ("table2", "figure2", "overview"):
        section, artefact = found[ARTEFACTS[name].title], ARTEFACTS[name]
        assert section.count(artefact.note) == 1
        for table in artefact.tables(report[name]).values():
            assert f"{table.caption}\n\n{table.markdown()}" in section
        assert (f"![{artefact.title}]({name}.svg)" in section) is (artefact.draw is not None)


def test_the_page_shows_present_artefacts_in_the_order_of_the_paper() -> None:
    text = page({"figure2": FIGURE2, "about": ABOUT, "table2": table2(10)})
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads == ["## Summary", f"## {ARTEFACTS['table2'].title}", f"## {ARTEFACTS['figure2'].title}"]
    assert "| Kipf-GCN | 50.0 ± 1.0 | – |" in text
    assert "| GAT | 50.0 ± 1.0 | 50.0 ± 1.0 |" in text


def test_the_page_names_runs_dates_and_machine() -> None:
    text = page({"about": ABOUT, "table2": table2(10)})
    for words in ("1,234 runs", "2026-11-15 to 2026-11-16", "10 seeds", "2 cores of an Abacus", "torch 2.13.0"):
        assert words in text
    same_day = {**ABOUT, "dates": ["2026-11-16"] * 2}
    assert "2026-11-16 to" not in page({"about": same_day, "table2": table2(10)})


@pytest.mark.parametrize(
    ("runs", "words"), [((3, 10), "3 to 10 seeds"), ((2, 2), "2 seeds"), ((), "no run of Table 2")]
)
def test_the_page_names_the_number_of_seeds(runs: tuple[int, ...], words: str) -> None:
    assert words in page({"about": ABOUT, "table2": table2(*runs)})


def test_every_claim_is_in_the_summary_and_in_its_section() -> None:
    text = page({"figure2": FIGURE2, "about": ABOUT})
    summary = [line for line in text.splitlines() if line.startswith("| Q2: ")]
    claims = [line.split("|")[1].strip() for line in summary]
    assert len(claims) == 4
    for claim in claims:
        assert f"**{claim}**" in text


def test_pictures_come_from_the_folder_of_images() -> None:
    report = {"figure2": FIGURE2, "about": ABOUT}
    assert "](figure2.svg)" in page(report)
    assert "](../images/figure2.svg)" in page(report, images="../images/")
    assert "figure2.svg" not in page({**report, "figure2": {"datasets": {"demo": []}}})


def test_a_page_without_runs_states_it() -> None:
    nothing = {"runs": 0, "dates": [], "environments": []}
    assert "No runs." in page({"about": nothing})
