"""What is written in any format is read back to the same graph, letter by letter and bit by bit."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from confgcn.data.formats.registry import read_graph, write_graph
from confgcn.data.formats.table import TableOptions
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph

FORMATS = ("csv", "parquet", "graph.npz", "graph.graphml")
ODD = [
    'a"b',
    "a,b",
    "a\nb",
    "a\r\nb",
    "a\rb",
    " a",
    "a ",
    "\t",
    "😀",
    "עברית",
    "=cmd()",
    "<b>&amp;",
    "#1",
    "7",
    "07",
    "7.0",
]
ODD += ["é", "e\u0301", "a;b", "\u2028", "'", "]]>", "{{7*7}}", "NaN", "null", "\u200b", "true", "_"]

texts = st.one_of(st.sampled_from(ODD), st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
words = texts.filter(lambda text: text.strip() != "").map(lambda text: f"c{text}")
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


def printable(text: str) -> bool:
    return all(
        letter in "\t\n\r" or " " <= letter <= "\ud7ff" or "\ue000" <= letter <= "\ufffd" or letter > "\uffff"
        for letter in text
    )


@st.composite
def raw_graphs(draw: st.DrawFn) -> RawGraph:
    usable = texts.filter(printable)
    ids = draw(st.lists(usable, min_size=1, max_size=5, unique=True))
    position = st.integers(0, len(ids) - 1)
    names = draw(st.lists(usable.map(lambda text: f"f={text}"), min_size=1, max_size=3, unique=True))
    row = st.lists(st.one_of(st.just(0.0), floats), min_size=len(names), max_size=len(names))
    features: Any = np.array(draw(st.lists(row, min_size=len(ids), max_size=len(ids))), dtype=np.float32)
    labels = draw(st.lists(st.none() | words.filter(printable), min_size=len(ids), max_size=len(ids)))
    parts = [draw(st.sampled_from(["train", "validation", "test", ""])) if label else "" for label in labels]
    return RawGraph(
        name="graph",
        ids=ids,
        edges=np.array(draw(st.lists(st.tuples(position, position), max_size=6)), dtype=np.int64).reshape(-1, 2),
        features=sp.csr_matrix(features) if draw(st.booleans()) else features,
        feature_names=draw(st.sampled_from([names, None])),
        labels=draw(st.sampled_from([labels, None])) if not any(parts) else labels,
        split=draw(st.sampled_from([parts, None])),
    )


def small(**changes: Any) -> RawGraph:
    given: dict[str, Any] = {
        "name": "graph",
        "ids": ["a", "b"],
        "edges": np.array([[0, 1]]),
        "features": np.array([[0.1, 2], [3, -0.0]], dtype=np.float32),
        "feature_names": ["p", "q"],
        "labels": ["x", None],
    }
    return RawGraph(**{**given, **changes})


def put(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def through(raw: RawGraph, folder: Path, kind: str) -> RawGraph:
    path = folder / kind
    write_graph(raw, path, folder_format="parquet" if kind == "parquet" else "csv")
    return read_graph(path, TableOptions(allow_edgeless=True))


@pytest.mark.parametrize("kind", FORMATS)
@settings(max_examples=50, deadline=None)
@given(raw=raw_graphs())
@example(
    raw=RawGraph(
        "graph", ODD, np.array([[0, 1]]), np.eye(len(ODD)), [f"f{text}" for text in ODD], [f"c{text}" for text in ODD]
    )
)
def test_any_graph_comes_back_from_any_format(kind: str, raw: RawGraph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        back = through(raw, Path(folder), kind)
    assert back.build().fingerprint == raw.build().fingerprint
    if raw.feature_names is not None:
        assert back.build().feature_names == raw.build().feature_names


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i8", "u1", "?"])
def test_numbers_of_every_type_come_back(tmp_path: Path, kind: str, dtype: str) -> None:
    raw = small(features=np.array([[0, 1], [3, 1]]).astype(dtype) / (3 if dtype[0] == "f" else 1))
    assert through(raw, tmp_path, kind).build().fingerprint == raw.build().fingerprint


def test_the_bits_of_small_and_negative_numbers_come_back(tmp_path: Path) -> None:
    features = np.array([[1e-60, -0.0], [1e-45, 1.1754944e-38]])
    for kind in FORMATS:
        raw = small(features=features, feature_names=None)
        assert through(raw, tmp_path, kind).build().fingerprint == raw.build().fingerprint


def test_the_files_that_were_written_are_named(tmp_path: Path) -> None:
    assert write_graph(small(), tmp_path / "g.npz") == [tmp_path / "g.npz"]
    assert write_graph(small(), tmp_path / "deep" / "g", folder_format="parquet") == [
        tmp_path / "deep" / "g" / "nodes.parquet",
        tmp_path / "deep" / "g" / "edges.parquet",
    ]


def test_tables_are_plain_to_read(tmp_path: Path) -> None:
    write_graph(small(split=["train", ""]), tmp_path / "g")
    assert (tmp_path / "g" / "nodes.csv").read_text() == "id,label,split,p,q\na,x,train,0.100000001,2\nb,,,3,-0\n"
    assert (tmp_path / "g" / "edges.csv").read_text() == "source,target\na,b\n"


def test_columns_without_names_are_numbered_in_order(tmp_path: Path) -> None:
    raw = small(features=np.arange(1.0, 25).reshape(2, 12), feature_names=None)
    back = through(raw, tmp_path, "csv").build()
    assert back.feature_names == tuple(f"f{place}" for place in range(12))
    assert back.fingerprint == raw.build().fingerprint


def test_a_graph_without_features_and_labels_is_ids_and_edges(tmp_path: Path) -> None:
    for kind in FORMATS:
        back = through(small(features=None, feature_names=None, labels=None), tmp_path, kind)
        assert (list(back.ids), back.features, back.labels) == (["a", "b"], None, None)


def test_p12_what_is_there_is_not_touched_without_being_asked(tmp_path: Path) -> None:
    (tmp_path / "g.npz").write_text("mine")
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "notes.txt").write_text("mine")
    for path in (tmp_path / "g.npz", tmp_path / "g"):
        with pytest.raises(UsageError, match=rf"{path} exists already.*--overwrite"):
            write_graph(small(), path)
    assert (tmp_path / "g.npz").read_text() == "mine"
    assert [file.name for file in (tmp_path / "g").iterdir()] == ["notes.txt"]


def test_overwriting_replaces_its_own_files_and_removes_none(tmp_path: Path) -> None:
    for name in ("edges.csv", "nodes.py", "notes.txt"):
        (tmp_path / name).write_text("old")
    write_graph(small(), tmp_path, overwrite=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["edges.csv", "nodes.csv", "nodes.py", "notes.txt"]
    assert (tmp_path / "nodes.py").read_text() == "old"


@pytest.mark.parametrize("rival", ["edges.tsv", "nodes.parquet", "features.npy", "edges.csv.gz"])
def test_parts_of_another_graph_are_left_and_named(tmp_path: Path, rival: str) -> None:
    (tmp_path / rival).write_text("old")
    with pytest.raises(UsageError, match=rf"holds {rival}, files of another graph"):
        write_graph(small(), tmp_path, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == [rival]


def test_a_table_alone_has_no_place_for_a_graph(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tables are written to a folder"):
        write_graph(small(), tmp_path / "g.csv")
    with pytest.raises(UsageError, match="unknown format of a folder 'xlsx'"):
        write_graph(small(), tmp_path / "g", folder_format="xlsx")


@pytest.mark.parametrize("kind", ["csv", "parquet", "graph.graphml"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"feature_names": ["Label", "q"]}, "a feature is called 'Label'", id="label"),
        pytest.param({"feature_names": ["p", "node_id"]}, "a feature is called 'node_id'", id="id"),
        pytest.param({"feature_names": ["p", ""]}, "a feature is called ''", id="no name"),
        pytest.param({"ids": ["a", ""]}, "id is empty", id="empty id"),
        pytest.param({"ids": ["a", "a"]}, "'a' occurs twice", id="id twice"),
        pytest.param({"labels": [" ", "x"]}, "a class has a blank name", id="blank label"),
        pytest.param({"labels": ["0.5", "1"]}, "not a whole number", id="quantity"),
        pytest.param({"labels": ["x"]}, "expected one label per node", id="too few labels"),
        pytest.param({"split": ["train", "dev"]}, "split: expected", id="unknown part"),
        pytest.param({"features": np.array([[np.nan, 1], [2, 3]])}, "not a finite float32", id="nan"),
        pytest.param({"edges": np.array([[0, 2]])}, "names node 2", id="edge outside"),
    ],
)
def test_what_would_not_come_back_is_not_written(tmp_path: Path, kind: str, change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        through(small(**change), tmp_path, kind)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "text"), [("csv", "a\0"), ("graph.graphml", "a\0"), ("graph.graphml", "\x1b[0m")])
def test_characters_that_a_format_has_not_are_named(tmp_path: Path, kind: str, text: str) -> None:
    with pytest.raises(DataError, match=r"write an \.npz file"):
        through(small(ids=["a", text]), tmp_path, kind)
    assert list(through(small(ids=["a", text]), tmp_path, "graph.npz").ids) == ["a", text]


@pytest.mark.parametrize("name", ["graph.graphml", "folder"])
def test_formats_without_edge_weights_refuse_to_drop_them(tmp_path: Path, name: str) -> None:
    graph = Graph.build([(0, 1)], np.eye(2), [0, 1], edge_weight=[3.0])
    with pytest.raises(UsageError, match=r"edge weights cannot be written .*ends in \.npz"):
        write_graph(raw_from_graph(graph), tmp_path / name)
