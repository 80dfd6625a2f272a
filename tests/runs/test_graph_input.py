"""Where graphs come from: names, files, memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.data.formats.registry import read_graph, write_graph
from confgcn.data.formats.table import TableOptions
from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import ConfGCNError, DataError, UsageError
from confgcn.graph import Graph
from confgcn.runs import graph_input as module
from confgcn.runs.graph_input import (
    GraphFiles,
    InMemoryGraph,
    NamedGraph,
    as_input,
    load_for_inspection,
)
from confgcn.runs.request import RunRequest
from confgcn.runs.saved import load_run
from confgcn.runs.stored_graph import Shares
from confgcn.runs.train import train

EDGES, NODES = "source,target\na,b\nb,c\n", "id,label,age\na,x,1\nb,,20\nc,y,30\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "friends"
    home.mkdir()
    (home / "edges.csv").write_text(EDGES)
    (home / "nodes.csv").write_text(NODES)
    return home


def test_a_name_a_path_and_a_graph_are_told_apart(folder: Path, small_graph: Graph) -> None:
    assert isinstance(as_input("demo"), NamedGraph)
    assert as_input(str(folder)) == as_input(folder) == GraphFiles(folder)
    assert isinstance(as_input(small_graph), InMemoryGraph)
    with pytest.raises(UsageError, match="did you mean 'cora'"):
        as_input("coar")


def test_files_are_called_by_their_folder_and_loaded(folder: Path) -> None:
    for given in (GraphFiles(folder), GraphFiles(edges=folder / "edges.csv", nodes=folder / "nodes.csv")):
        assert given.name == "friends"
        graph = given.load(0)
        assert graph.node_names == ("a", "b", "c")
        assert graph.feature_names == ("age",)
        assert graph.train.tolist() == [0, 2]


def test_the_record_says_what_was_asked_and_nothing_else(folder: Path) -> None:
    assert GraphFiles(folder).record() == {"input": {"path": str(folder)}}
    options = TableOptions(label="team", ignore=("title",))
    given = GraphFiles(folder, options=options, structural=("degree",), shares=Shares(test=0.2))
    expected = {"path": str(folder), "label": "team", "ignore": ["title"], "structural": ["degree"], "test": 0.2}
    assert given.record() == {"input": expected}
    assert NamedGraph("demo").record() == {}


def test_a_graph_without_features_can_be_looked_at_but_not_loaded(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES)
    given = GraphFiles(tmp_path)
    with pytest.raises(ConfGCNError, match="no features"):
        given.load(0)
    seen, statistics = load_for_inspection(given, 0)
    assert statistics.features == 0
    assert any("--add-features" in text for text in seen.notices())
    assert GraphFiles(tmp_path, structural=("degree",)).load(0).feature_names == ("graph:degree",)


def test_files_are_read_once_for_several_split_seeds_and_for_an_inspection(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = "".join(f"n{i},{'xy'[i % 2]},{i}\n" for i in range(30))
    (folder / "nodes.csv").write_text("id,label,age\n" + nodes)
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{(i + 2) % 30}\n" for i in range(30)))
    reads: list[Path | None] = []
    monkeypatch.setattr(module, "read_graph", lambda path, *a, **k: reads.append(path) or read_graph(path, *a, **k))
    given = GraphFiles(folder, shares=Shares(validation=0.2, test=0.2))
    assert given.load(0).test.tolist() != given.load(1).test.tolist()
    assert reads == [folder]
    load_for_inspection(GraphFiles(folder, shares=Shares(test=0.2)), 0)
    assert reads == [folder, folder]


def test_a_run_keeps_a_graph_that_has_no_name(small_graph: Graph, tmp_path: Path) -> None:
    write_graph(raw_from_graph(small_graph), tmp_path / "cora")
    request = RunRequest(tmp_path / "cora", overrides={"epochs": 3}, out=tmp_path / "run")
    summary = train(request, notify=lambda _: None)
    assert summary["settings_of"] == "any"  # not those of the benchmark that has the same name
    for file in ("nodes.csv", "edges.csv"):
        (tmp_path / "cora" / file).unlink()
    run = load_run(tmp_path / "run")
    assert run.graph.fingerprint == small_graph.fingerprint
    assert run.probabilities.shape == (120, 4)
    (tmp_path / "run" / "graph.npz").unlink()
    with pytest.raises(ConfGCNError, match=r"graph.npz: missing"):
        _ = load_run(tmp_path / "run").graph


def test_a_resumed_run_refuses_files_that_have_changed(folder: Path, tmp_path: Path) -> None:
    rows = "".join(f"n{i},{'xy'[i % 2]},{i}\n" for i in range(30))
    (folder / "nodes.csv").write_text("id,label,age\n" + rows)
    (folder / "edges.csv").write_text("source,target\n" + "".join(f"n{i},n{(i + 2) % 30}\n" for i in range(30)))
    request = {"graph": folder, "overrides": {"epochs": 2}, "out": tmp_path / "run"}
    train(RunRequest(**request), notify=lambda _: None)
    (tmp_path / "run" / "metrics.json").unlink()
    (folder / "nodes.csv").write_text("id,label,age\n" + rows.replace("n3,y,3", "n3,y,4"))
    with pytest.raises(ConfGCNError, match="another graph"):
        train(RunRequest(**request, if_exists="resume"), notify=lambda _: None)


def test_what_no_single_line_is_to_blame_for_is_said_with_the_file(folder: Path) -> None:
    (folder / "nodes.csv").write_text("id,label,split,x\n0,a,train,1\n1,,train,2\n2,b,train,3\n")
    (folder / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    with pytest.raises(DataError, match=rf"{folder}: .*node '1' is in the train set and has no label"):
        GraphFiles(folder).load(0)
    named = GraphFiles(edges=folder / "edges.csv", nodes=folder / "nodes.csv")
    with pytest.raises(DataError, match=r"/nodes\.csv: .*node '1' is in the train set"):
        named.load(0)
    (folder / "nodes.csv").write_text("id,label,split\n0,a,train\n1,,train\n2,b,train\n")
    with pytest.raises(DataError, match=rf"{folder}: .*node '1' is in the train set"):
        load_for_inspection(GraphFiles(folder), 0)
