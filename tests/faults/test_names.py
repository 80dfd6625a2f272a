"""Names that are code somewhere else: on a terminal and in a page they are text, and in files they are as they came."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

ROOT = Path(__file__).parents[2]
FIRE = "window.__fired=1"
ESCAPES = "\x1b[31mred\x1b]0;title\x07\x1b[2J"
HOSTILE = (
    f"</script><script>{FIRE}</script>",
    f'"><img src=x onerror="{FIRE}">',
    ESCAPES,
    "[bold]rich[/bold] [link=http://example.org]here[/link] [/]",
    f"javascript:{FIRE}",
    "{{7*7}}{% raw %}",
    "a\u2028b\u2029c",
    "left\u202eright\u200b",
    "{0.__class__} %s%n $(mkdir canary) `mkdir canary`",
    "line\nerror: not one\nnote: nor this",
    "=cmd|' /C calc'!A0",
    "+1",
    "@SUM(1+1)",
)
LABELS = HOSTILE[:4]
FOLDER = f"[bold]<img src=x onerror={FIRE}> {ESCAPES}{{{{7*7}}}} $(mkdir canary);mkdir canary"
RUN = f"out {ESCAPES}[red]\u202e"
# Everything that moves a cursor, hides or turns text round; a line ends where ours do.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u200b\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def trained(outside_before: Outside) -> Outside:
    """A graph whose ids, labels, columns and folders are all hostile, and a run on it."""
    names = [*HOSTILE, *(f"n{node}" for node in range(len(HOSTILE)))]
    parts = ("train", "validation", "test")
    rows = [[name, LABELS[i % 4], str(i % 5 + 1), parts[i // 4 % 3]] for i, name in enumerate(names)]
    edges = [[one, other] for one, other in zip(names, names[1:] + names[:1], strict=True)]
    write_csv(outside_before.write(f"{FOLDER}/nodes.csv", ""), [["id", "label", f"<b>{ESCAPES}", "split"], *rows])
    write_csv(outside_before.write(f"{FOLDER}/edges.csv", ""), [["source", "target"], *edges])
    assert_harmless(outside_before.accepts("train", FOLDER, "--epochs", 2, "--out", RUN))
    return outside_before


@pytest.fixture
def beside(trained: Outside, outside: Outside) -> Outside:
    shutil.copytree(trained.folder, outside.folder, dirs_exist_ok=True)
    return outside


def write_csv(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)


def assert_harmless(ended: Any) -> None:
    """Nothing reached the terminal but text and line ends, and no line of it is a name that plays a message."""
    printed = ended.out + ended.errors
    assert not CONTROL.search(printed), repr(printed)
    assert not [line for line in printed.splitlines() if line.startswith(("error: not one", "note: nor this"))]


@pytest.mark.fault("S17")
@pytest.mark.parametrize(
    "words",
    [
        ("inspect", FOLDER),
        ("convert", FOLDER, "--out", f"new {ESCAPES}"),
        ("convert", FOLDER, "--out", f"new {ESCAPES}.npz"),
        ("report", RUN, "--out", f"page {ESCAPES}.html"),
        ("evaluate", RUN),
        ("predict", RUN, "--out", f"again {ESCAPES}.csv"),
        *(("explain", RUN, name) for name in (ESCAPES, HOSTILE[3], HOSTILE[9])),
    ],
    ids=lambda words: words[0],
)
def test_no_name_reaches_the_terminal_as_anything_but_text(beside: Outside, words: tuple[str, ...]) -> None:
    assert_harmless(beside.accepts(*words))


@pytest.mark.fault("S17")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("train", ESCAPES), 2),
        (("train", f"./{ESCAPES}\nerror: not one"), 4),
        (("train", FOLDER, "--out", RUN), 2),
        (("train", FOLDER, "--label", ESCAPES), 2),
        (("train", FOLDER, "--set", f"{ESCAPES}=1"), 2),
        (("train", FOLDER, "--set", f"gamma={ESCAPES}"), 2),
        (("train", FOLDER, "--seed", ESCAPES), 2),
        (("train", FOLDER, f"--{ESCAPES}"), 2),
        (("train", FOLDER, "--config", f"{ESCAPES}.toml"), 4),
        (("train", FOLDER, "--out", "new", "--split", "label"), 3),
        (("convert", FOLDER, "--out", "new.graphml"), 3),
        (("explain", RUN, f"{ESCAPES}\u202e"), 2),
        (("report", f"none {ESCAPES}"), 4),
        (("tune", FOLDER, "--space", "space.toml", "--study", f"{ESCAPES}/x.db"), 4),
        ((ESCAPES,), 2),
    ],
)
def test_no_name_in_an_error_reaches_the_terminal_as_anything_but_text(
    beside: Outside, words: tuple[str, ...], code: int
) -> None:
    beside.write("space.toml", "hidden_dim = [4]")
    assert_harmless(beside.refuses(*words, code=code, naming=["error: "]))


@pytest.mark.fault("S17")
def test_names_that_look_like_markup_are_printed_unchanged(trained: Outside) -> None:
    assert HOSTILE[3] in trained.accepts("inspect", FOLDER).out
    assert f"{HOSTILE[3]}: " in trained.accepts("explain", RUN, HOSTILE[3]).out


@pytest.mark.fault("L07", "S13")
def test_names_are_unchanged_in_files(trained: Outside) -> None:
    with (trained.folder / RUN / "predictions.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert set(HOSTILE) < {row["node"] for row in rows}
    assert {row["label"] for row in rows} <= set(LABELS)
    explained = json.loads(trained.accepts("explain", RUN, ESCAPES, "--json").out)
    assert (explained["node"], set(explained["raw_probabilities"])) == (ESCAPES, set(LABELS))


@pytest.mark.fault("S13")
def test_the_risk_of_formulas_in_spreadsheets_is_documented() -> None:
    for document in ("SECURITY.md", "docs/run_directory.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        assert re.search(r"\*\*Spreadsheets\*\* may execute a cell that begins with `=`, `\+`, `-` or `@`", text)


@pytest.mark.fault("S12", "L07")
def test_the_report_shows_every_name_as_text(beside: Outside) -> None:
    beside.accepts("report", RUN, "--out", "page.html")
    page = (beside.folder / "page.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 2  # the data, and our own
    assert "<img" not in page
    assert not CONTROL.search(page)
    assert not re.search(r'href="(?!#|data:)', page)
    assert "49" not in re.findall(r"<title>(.*?)</title>", page)[0]
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert not set("<>&\u2028\u2029") & set(data)
    names = json.loads(data)["names"]
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[4], HOSTILE[5]} < set(names)
    shown = html.unescape(page)
    assert all(text in shown for text in ("[bold]<img src=x", "{{7*7}}", "\\x1b[31mred", HOSTILE[0], HOSTILE[3]))


@pytest.mark.fault("S12")
def test_the_pictures_of_an_evaluation_hold_no_script(beside: Outside) -> None:
    beside.accepts("evaluate", RUN)
    pictures = list((beside.folder / RUN).glob("*.svg"))
    assert len(pictures) == 3
    assert not [picture for picture in pictures if re.search("<script|onerror|onload", picture.read_text())]


@pytest.mark.fault("S06", "S12")
def test_nothing_in_a_name_was_executed(trained: Outside) -> None:
    assert not list(trained.folder.rglob("canary"))
