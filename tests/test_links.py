"""Every relative link and every file name in the documents leads to a file, every anchor to a heading in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:benchmarks|confgcn|docs|examples|reproduction|tests|tools)/[\w./-]+)`")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


def text_of(path: Path) -> str:
    """The Markdown of a document, without code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        text = "\n\n".join("".join(cell["source"]) for cell in cells)
    return text


def links(path: Path) -> Iterator[str]:
    for target in LINK.findall(CODE.sub("", text_of(path))):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(path: Path) -> set[str]:
    """The anchors of the headings, as GitHub and Sphinx write them."""
    titles = re.findall(r"^#+ +(.*)$", re.sub(r"```.*?```", "", text_of(path), flags=re.S), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    broken = []
    for link in links(document):
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_are_named_exist(document: Path) -> None:
    named = [name for name in FILE.findall(text_of(document)) if "NAME" not in name]
    assert [name for name in named if not (ROOT / name).exists()] == []
