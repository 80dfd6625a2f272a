"""Files that say the same in another way, by several changes at once: no byte of what comes of them is another."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from confgcn.cli.main import app
from confgcn.data.formats.delimited import quoted
from confgcn.io.threads import computing_with
from confgcn.runs.graph_input import GraphFiles
from confgcn.runs.predictions import disagreeing_edges_table, label_errors_table, prediction_table
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.tables import csv_bytes
from confgcn.runs.train import fit_in_memory

IDS = ["n1", "n01", "n10", "2", "a,b", 'say "so"', "two\nlines", "é", "e\u0301", "#1", " x ", "β;γ", "a\tb", "=1+1"]
COLOURS = ["red", "blue", "", 'off "white"']
Rows = list[list[str]]


def node_table() -> Rows:
    drawn = random.Random(3)  # noqa: S311
    parts = ["train", "train", "validation", "test", ""]
    return [["id", "label", "split", "size", "a|b", "colour"]] + [
        [
            node,
            ["yes", "no"][place % 2],
            parts[place % 5],
            f"{drawn.gauss(0, 1):.4f}",
            str(place % 3),
            COLOURS[place % 4],
        ]
        for place, node in enumerate(IDS)
    ]


def edge_table() -> Rows:
    drawn = random.Random(4)  # noqa: S311
    pairs = sorted({tuple(sorted(drawn.sample(range(len(IDS) - 1), 2))) for _ in range(22)})  # the last is isolated
    return [["source", "target"], *([IDS[one], IDS[other]] for one, other in pairs)]


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
comment = st.sampled_from(["", '# a comment, with "one quote', "#", "   ", "# source,target"])
way_of_a_table = st.fixed_dictionaries(
    {
        "delimiter": st.sampled_from([",", "\t", ";"]),
        "quote_all": st.booleans(),
        "ends": st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1, max_size=3),
        "last_end": st.booleans(),
        "mark": st.sampled_from(["", "\ufeff"]),
        "comments": st.lists(comment, max_size=5),
        "compression": st.sampled_from(sorted(COMPRESSIONS)),
        "parts": st.integers(1, 2),
        "says_so": st.booleans(),
        "suffix": st.sampled_from([".csv", ".txt", ".CSV"]),
        "order": st.permutations(range(max(len(IDS), len(edge_table())))),
        "columns": st.permutations(range(6)),
    }
)
way_of_edges = st.fixed_dictionaries(
    {
        "turned": st.lists(st.booleans(), min_size=40, max_size=40),
        "doubled": st.lists(st.integers(0, len(edge_table()) - 2), max_size=4),
        "loops": st.lists(st.sampled_from(IDS), max_size=2),
    }
)
stations = st.lists(st.sampled_from(["graph.npz", "graph.graphml", "csv", "parquet"]), max_size=2)


def reordered(rows: Rows, order: Sequence[int], columns: Sequence[int]) -> Rows:
    header, *body = rows
    chosen = [column for column in columns if column < len(header)]
    placed = [body[place] for place in order if place < len(body)]
    return [[row[column] for column in chosen] for row in [header, *placed]]


def with_odd_edges(rows: Rows, way: dict[str, Any]) -> Rows:
    """Edges turned round, listed twice, and from a node to itself."""
    header, *body = rows
    body = body + [body[place] for place in way["doubled"]]
    turned = [row[::-1] if turn else row for row, turn in zip(body, way["turned"], strict=False)]
    return [header, *turned, *([node, node] for node in way["loops"])]


def content(rows: Rows, way: dict[str, Any]) -> bytes:
    """A table as text, with records that end in different ways and lines between them that say nothing."""
    text = way["mark"]
    for number, row in enumerate(rows):
        ends = way["ends"][number % len(way["ends"])]
        between = way["comments"][number : number + 1]
        cells = ['"' + cell.replace('"', '""') + '"' if way["quote_all"] else quoted(cell) for cell in row]
        last = number == len(rows) - 1
        text += "".join(line + ends for line in between) + way["delimiter"].join(cells)
        text += ends if way["last_end"] or not last else ""
    return text.encode()


def write_table(folder: Path, stem: str, rows: Rows, way: dict[str, Any]) -> None:
    """Compressed in one piece or in two, with the suffix of the format or without."""
    whole, compress = content(rows, way), COMPRESSIONS[way["compression"]]
    half = len(whole) // way["parts"]
    packed = compress(whole[:half]) + compress(whole[half:]) if way["parts"] == 2 else compress(whole)
    suffix = ".tsv" if way["delimiter"] == "\t" else way["suffix"]
    (folder / f"{stem}{suffix}{way['compression'] if way['says_so'] else ''}").write_bytes(packed)


def converted(path: Path, station: str) -> Path:
    """What ``confgcn convert`` makes of it."""
    out = path.parent / f"{path.name}-to-{station}" if "." not in station else path.with_name(f"{path.stem}-{station}")
    tables = ["--tables", "parquet"] if station == "parquet" else []
    ended = CliRunner().invoke(app, ["convert", str(path), "--out", str(out), *tables])
    assert ended.exit_code == 0, ended.exception
    return out


def what_comes_of(path: Path) -> list[bytes]:
    """The tables of a run, its weights and its history."""
    request = RunRequest(path, overrides={"epochs": 2})
    graph = GraphFiles(path).load(0)
    with computing_with(1):
        run = fit_in_memory(graph, request.settings(), run_config(request), notify=lambda _: None)
    tables = [
        prediction_table(run, torch.arange(run.prepared.num_nodes)),
        label_errors_table(run),
        disagreeing_edges_table(run),
    ]
    weights = [value.numpy().tobytes() for value in run.method.state_dict().values()]
    return [*map(csv_bytes, tables), *weights, repr(run.history).encode()]


def write_plainly(folder: Path, nodes: Rows, edges: Rows) -> Path:
    folder.mkdir()
    for stem, rows in (("nodes", nodes), ("edges", edges)):
        text = "".join(",".join(map(quoted, row)) + "\n" for row in rows)
        (folder / f"{stem}.csv").write_bytes(text.encode())
    return folder


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Of the plain files."""
    folder = tmp_path_factory.mktemp("plain") / "graph"
    return what_comes_of(write_plainly(folder, node_table(), edge_table()))


@settings(max_examples=45, deadline=None, derandomize=True)
@given(of_nodes=way_of_a_table, of_edges=way_of_a_table, edges=way_of_edges, path=stations)
def test_no_way_of_writing_the_same_graph_changes_a_byte(
    reference: list[bytes], of_nodes: dict[str, Any], of_edges: dict[str, Any], edges: dict[str, Any], path: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "graph"
        place.mkdir()
        write_table(place, "nodes", reordered(node_table(), of_nodes["order"], of_nodes["columns"]), of_nodes)
        in_order = reordered(edge_table(), of_edges["order"], [0, 1])
        write_table(place, "edges", with_odd_edges(in_order, edges), of_edges)
        for station in path:
            place = converted(place, station)
        assert what_comes_of(place) == reference


def changed_cell(rows: Rows, row: int, column: int, text: str) -> Rows:
    return [[text if (r, c) == (row, column) else cell for c, cell in enumerate(cells)] for r, cells in enumerate(rows)]


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        (changed_cell(node_table(), 1, 3, "0.1"), edge_table()),
        (changed_cell(node_table(), 1, 1, "no"), edge_table()),
        (changed_cell(node_table(), 3, 2, "train"), edge_table()),
        (node_table(), edge_table()[:-1]),
        (node_table(), changed_cell(edge_table(), 1, 1, IDS[-1])),
    ],
    ids=["a number", "a training label", "the split", "an edge less", "another end"],
)
def test_what_does_matter_is_seen(reference: list[bytes], nodes: Rows, edges: Rows, tmp_path: Path) -> None:
    assert what_comes_of(write_plainly(tmp_path / "graph", nodes, edges)) != reference
