"""Tables that are empty, ragged or have other columns are refused; encoding, line ends and quotes change nothing."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Tables


@pytest.mark.fault("G04")
@pytest.mark.parametrize("content", ["", "\n \r\n\r\n", "# nothing yet\n", "\ufeff", "\ufeff\n#\n"])
@pytest.mark.parametrize("name", ["edges.csv", "nodes.csv"])
def test_an_empty_file_is_refused(tables: Tables, name: str, content: str) -> None:
    tables.write(name, content)
    tables.refuses_to_train("--allow-edgeless", naming=[f"{name}: the file is empty", "no edges"])


@pytest.mark.fault("G04")
@pytest.mark.parametrize("header", ["source,target", "source,target\r\n", "\ufeff# links\nsource,target\n\n#\n"])
def test_a_header_without_edges_is_refused(tables: Tables, header: str) -> None:
    tables.write("edges.csv", header)
    naming = ["edges.csv: no edges", "--allow-edgeless"]
    tables.refuses_to_train(naming=naming)
    tables.refuses("inspect", "--edges", "edges.csv", "--allow-edgeless", code=3, naming=naming)
    tables.train("--allow-edgeless")
    assert all(0.5 <= float(row["probability"]) <= 1 for row in tables.predictions().values())


@pytest.mark.fault("G05")
@pytest.mark.parametrize(
    "header",
    [
        *("who,whom", "source", "source,to,weight", "target", "source target", "source|target", "Quelle,Ziel,Art"),
        *("source,target,weight", "src,dst,year,kind,note", "a,b"),
    ],
)
def test_other_columns_are_listed_beside_those_expected(tables: Tables, header: str) -> None:
    columns = header.split(",")
    tables.write("edges.csv", f"{header}\n{','.join('a' * len(columns))}\n")
    found = f"edges.csv: found the columns {', '.join(columns)}, expected "
    expected = "source,target or src,dst" if not {"source", "target"} <= set(columns) else "source, target alone"
    tables.refuses_to_train(naming=[found, "src, dst alone" if header.startswith("src") else expected])


@pytest.mark.fault("G05")
@pytest.mark.parametrize(
    ("header", "problem"),
    [
        ("source,source", "column 'source' appears twice in the header"),
        (",source,target", "column 1 has no name"),
        (",", "column 1 has no name"),
        (",,,", "column 1 has no name"),
        ('"",""', "column 1 has no name"),
    ],
)
def test_invalid_names_of_columns_are_refused(tables: Tables, header: str, problem: str) -> None:
    tables.write("edges.csv", f"{header}\n{','.join('a' * (header.count(',') + 1))}\n")
    tables.refuses_to_train(naming=[f"edges.csv: {problem}"])


@pytest.mark.fault("G05")
@pytest.mark.parametrize(
    ("edges", "nodes", "naming"),
    [
        ("nodes.csv", "edges.csv", ["nodes.csv: found the columns id, label, split, width, height", "source,target"]),
        ("nodes.csv", "nodes.csv", ["nodes.csv: found the columns id, label, split, width, height", "source,target"]),
        ("edges.csv", "edges.csv", ["edges.csv: found the columns source, target", "expected one called id", "--id"]),
    ],
)
def test_swapped_tables_are_refused(tables: Tables, edges: str, nodes: str, naming: list[str]) -> None:
    tables.refuses("train", "--edges", edges, "--nodes", nodes, "--out", "run", code=3, naming=naming)


@pytest.mark.fault("G06")
@pytest.mark.parametrize(("row", "fields"), [("a,b,c", 3), ("a", 1), ("a,b,", 3), ("\t", 1), ("a;b", 1), ('"a,b"', 1)])
def test_a_row_of_another_length_is_named_by_its_line(tables: Tables, row: str, fields: int) -> None:
    rows = ["source,target", *["a,b"] * 5000]
    rows[4999] = row
    tables.write("edges.csv", "\n".join(rows))
    tables.refuses_to_train(naming=[f"edges.csv, line 5000: {fields} fields, but the header has 2"])


@pytest.mark.fault("G06")
def test_lines_are_counted_as_an_editor_counts_them(tables: Tables) -> None:
    tables.write("nodes.csv", f'{tables.nodes}\n# note\r\n"two\nlines",,,0,0\rx,p,train\n')
    tables.refuses_to_train(naming=["nodes.csv, line 14: 3 fields, but the header has 5"])


@pytest.mark.fault("G08", "G09")
@pytest.mark.parametrize(
    "changed",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", "\r\n", 3).replace("\ne", "\re"),
        lambda text: text.rstrip("\n"),
        lambda text: "\ufeff" + text.replace("\n", "\r\n\r\n").rstrip(),
        lambda text: text.replace(",", ";"),
        lambda text: re.sub("[^,\n]+", r'"\g<0>"', text),
    ],
    ids=["BOM", "CRLF", "CR", "mixed", "no final newline", "BOM and blank lines", "semicolons", "all in quotes"],
)
def test_encoding_line_ends_separators_and_quotes_change_nothing(
    tables: Tables, plain: tuple[bytes, str], changed: Callable[[str], str]
) -> None:
    tables.write("edges.csv", changed(tables.edges))
    tables.write("nodes.csv", changed(tables.nodes))
    tables.train()
    assert tables.result() == plain


@pytest.mark.fault("G08")
def test_a_second_byte_order_mark_is_shown(tables: Tables) -> None:
    tables.write("edges.csv", "\ufeff\ufeff" + tables.edges)
    tables.refuses_to_train(naming=["edges.csv: found the columns \\ufeffsource, target"])


@pytest.mark.fault("G14")
def test_names_with_separators_quotes_and_line_ends_stay_in_the_output(tables: Tables) -> None:
    names = {"a": "Doe, Jane", "b": 'the "b"', "c": "two\nlines", "d": "two\r\nlines", "e": "#5", "f": '"', "g": " g "}
    for file in ("edges", "nodes"):
        header, *rows = [line.split(",") for line in getattr(tables, file).splitlines()]
        width = 2 if file == "edges" else 1
        stream = io.StringIO()
        named = [[names.get(cell, cell) for cell in row[:width]] + row[width:] for row in rows]
        csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([header, *named])
        tables.write(f"{file}.csv", stream.getvalue())
    tables.train()
    assert {*tables.predictions()} == {*names.values(), "h"}


@pytest.mark.fault("G14")
@pytest.mark.parametrize("row", ['"c,d', '"c"x,d', '"c","d', '"c" ,d'])
def test_a_broken_quote_is_named_by_its_line(tables: Tables, row: str) -> None:
    tables.write("edges.csv", tables.edges.replace("c,d", row))
    tables.refuses_to_train(naming=["edges.csv, line 5: not a CSV record", "quote"])


@pytest.mark.fault("G15")
def test_comments_and_blank_lines_are_skipped_and_counted(tables: Tables, plain: tuple[bytes, str]) -> None:
    tables.write(
        "edges.csv", "# links\n\n" + tables.edges.replace("c,d", "#x,y\n\n   \nc,d").replace("e,h", "# , ,\ne,h")
    )
    ended = tables.train()
    assert "note: edges.csv: 2 lines that start with # are skipped" in ended.errors
    assert tables.result() == plain


@pytest.mark.fault("G15")
@pytest.mark.parametrize(
    ("row", "naming"),
    [
        ("  c,d", ["line 5: node '  c' is not in nodes.csv", "did you mean 'c'?"]),
        ("c, d", ["line 5: node ' d' is not in nodes.csv", "did you mean 'd'?"]),
        ("c,d\t", ["line 5: node 'd\\t' is not in nodes.csv", "did you mean 'd'?"]),
        ("c,d # cites", ["line 5: node 'd # cites' is not in nodes.csv"]),
        ("  # a note", ["line 5: 1 fields, but the header has 2"]),
    ],
)
def test_spaces_are_kept_and_reported(tables: Tables, row: str, naming: list[str]) -> None:
    tables.write("edges.csv", tables.edges.replace("c,d", row))
    tables.refuses_to_train(naming=["edges.csv", *naming])
