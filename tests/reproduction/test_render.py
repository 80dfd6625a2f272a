"""From numbers to files: which there are, and the same bytes every time."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.render import PARTS, pictures_of, texts_of

CELL = {"mean": 0.5, "std": 0.01, "runs": 2, "diverged": 0}
FIGURE2 = {"datasets": {"demo": [{"title": "GAT", "entropy": [CELL] * 4, "degree": [CELL] * 4}]}}
FIGURE3 = {
    "depths": [1, 2],
    "datasets": {
        name: [{"title": "Kipf-GCN", "activation": "with ReLU", "cells": [CELL, CELL], "fall": 0.0}]
        for name in ("cora", "pubmed")
    },
    "rivals": {},
    "controls": {},
}


def test_every_part_has_a_title_of_its_own_and_says_how_to_read_it() -> None:
    titles = [part.title for part in PARTS.values()]
    assert len(set(titles)) == len(PARTS)
    for name, part in PARTS.items():
        assert part.note.endswith(".")
        if name[-1].isdigit():
            assert part.title.startswith(f"{name[:-1].capitalize()} {name[-1]}: ")


def test_texts_hold_every_table_with_its_caption() -> None:
    files = texts_of("figure3", FIGURE3)
    assert files.keys() == {"figure3.md", "figure3.tex"}
    for caption in ("cora: test accuracy", "pubmed: test accuracy"):
        assert files["figure3.md"].decode().count(caption) == 1
        assert files["figure3.tex"].decode().count(rf"\caption{{{caption}") == 1
    assert files["figure3.tex"].decode().count(r"\begin{tabular}") == 2


@pytest.mark.parametrize(("name", "numbers"), [("figure2", FIGURE2), ("figure3", FIGURE3)])
def test_the_same_numbers_give_the_same_bytes(name: str, numbers: dict[str, Any]) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    first, second = pictures_of(name, numbers), pictures_of(name, numbers)
    assert first.keys() == {f"{name}.svg", f"{name}.png"}
    assert first == second
    assert first[f"{name}.svg"].startswith(b"<?xml")
    assert first[f"{name}.png"].startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before


def test_nothing_to_show_is_no_picture() -> None:
    pytest.importorskip("matplotlib")
    assert pictures_of("figure2", {"datasets": {}}) == {}


@pytest.mark.parametrize("name", [name for name, part in PARTS.items() if part.draw is None])
def test_a_table_has_no_picture(name: str) -> None:
    assert pictures_of(name, {}) == {}
