"""The tables of a run are read cell by cell, or refused with file and row."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.exceptions import CorruptFileError
from confgcn.runs.directory import RunDirectory
from confgcn.runs.run_tables import Findings

TABLES = {
    "predictions.csv": 'node,label,set,accepted,novelty\n"a,b",x,x|y,yes,0.5\nb,y,,,-1e-3\n',
    "label_errors.csv": "node,label,suggested,score\nb,y,x,-0.25\n",
    "disagreeing_edges.csv": "node,neighbour,disagreement,influence\nb,a,0.9,0.1\n",
}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    for name, content in TABLES.items():
        (tmp_path / name).write_text(content)
    return RunDirectory(tmp_path)


def test_tables_are_rows_by_column(run: RunDirectory) -> None:
    found = Findings.read(run)
    assert [row["node"] for row in found.predictions] == ["a,b", "b"]
    assert found.labels == [{"node": "b", "label": "y", "suggested": "x", "score": "-0.25"}]
    assert found.edges[0]["influence"] == "0.1"


def test_a_table_that_is_missing_is_empty_and_so_is_a_column_that_not_every_method_has(run: RunDirectory) -> None:
    run.disagreeing_edges.write_text("node,neighbour,disagreement\nb,a,0.9\n")
    assert Findings.read(run).edges == [{"node": "b", "neighbour": "a", "disagreement": "0.9"}]
    run.predictions.unlink()
    assert Findings.read(run).predictions == []


@pytest.mark.parametrize(
    ("file", "there", "damaged", "problem"),
    [
        ("predictions.csv", "novelty", "oddness", "it lacks the column novelty"),
        ("predictions.csv", ",yes,", ",perhaps,", "row 1 has the accepted 'perhaps'"),
        ("predictions.csv", "-1e-3", "nan", "row 2 has the novelty 'nan'"),
        ("predictions.csv", ",-1e-3", "", "row 2 has not one cell for each column"),
        ("predictions.csv", "-1e-3", "-1e-3,more", "row 2 has not one cell for each column"),
        ("predictions.csv", '"a,b"', '"a,b', "not readable as a table"),
        ("label_errors.csv", "-0.25", "1e999", "row 1 has the score '1e999'"),
        ("label_errors.csv", "-0.25", "x" * 5000, r"row 1 has the score 'x{199}\.\.\."),
        ("label_errors.csv", "suggested", "node", "it lacks the column suggested"),
        ("disagreeing_edges.csv", "0.9", "", "row 1 has the disagreement ''"),
        ("disagreeing_edges.csv", "0.1", "one", "row 1 has the influence 'one'"),
    ],
)
def test_damage_is_named(run: RunDirectory, file: str, there: str, damaged: str, problem: str) -> None:
    (run.path / file).write_text(TABLES[file].replace(there, damaged, 1))
    with pytest.raises(CorruptFileError, match=rf"{file}: corrupt, {problem}"):
        Findings.read(run)


def test_what_is_no_text_is_named(run: RunDirectory) -> None:
    for content in (b"\xff\xfe", b"node\n" + b"x" * 200_000):
        run.label_errors.write_bytes(content)
        with pytest.raises(CorruptFileError, match=r"label_errors\.csv: corrupt, not readable as a table"):
            Findings.read(run)
