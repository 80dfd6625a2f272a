"""One function loads a graph from a name, a path or an object."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from confgcn import load_graph
from confgcn.data.formats.registry import write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import DataError, UsageError

FEATURES = np.array([[1.0], [2], [3]])
LABELS = ["p", "q", None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The path a - b - c."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "edges.csv").write_text("source,target\na,b\nb,c\n")
    (tmp_path / "mine" / "nodes.csv").write_text("id,label,x\na,p,1\nb,q,2\nc,,3\n")
    return tmp_path / "mine"


def test_a_name_loads_a_data_set() -> None:
    assert load_graph("demo").name == "demo"


def test_every_way_to_give_a_graph_gives_the_same(folder: Path) -> None:
    wanted = load_graph(folder).fingerprint
    tables = {"edges": folder / "edges.csv", "nodes": str(folder / "nodes.csv")}
    path = nx.Graph([("a", "b"), ("b", "c")])
    adjacency = sp.coo_matrix(([1, 1], ([0, 1], [1, 2])), shape=(3, 3))
    frames = pd.read_csv(folder / "edges.csv"), pd.read_csv(folder / "nodes.csv")
    beside: dict[str, Any] = {"features": pd.DataFrame(FEATURES, list("abc"), ["x"]), "labels": {"a": "p", "b": "q"}}
    assert load_graph(str(folder)).fingerprint == wanted
    assert load_graph(**tables).fingerprint == wanted
    assert load_graph(frames).fingerprint == wanted
    assert load_graph(path, **beside).fingerprint == wanted
    assert load_graph(adjacency, **beside, node_names=["a", "b", "c"]).fingerprint == wanted
    write_graph(raw_from_graph(load_graph(folder)), folder.parent / "graph.npz")
    assert load_graph(folder.parent / "graph.npz").fingerprint == wanted


def test_columns_of_tables_are_chosen_by_keyword(folder: Path) -> None:
    (folder / "nodes.csv").write_text("who,kind,group,x\na,p,train,1\nb,q,test,2\nc,,,3\n")
    graph = load_graph(
        folder, node_id="who", label="kind", split="group", ignore="x", add_features=["degree"], name="g"
    )
    assert (graph.name, graph.feature_names) == ("g", ("graph:degree",))
    assert (graph.train.tolist(), graph.test.tolist()) == ([0], [1])


def test_a_matrix_of_features_goes_with_tables(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "more.npz", features=FEATURES, ids=["a", "b", "c"])
    assert load_graph(folder, features=tmp_path / "more.npz").num_features == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "no graph: give a name"),
        ({"graph": "dem"}, "unknown graph 'dem': did you mean 'demo'"),
        ({"graph": "demo", "features": FEATURES}, "features: cannot be used here, demo is a data set"),
        ({"graph": np.eye(3), "label": "x"}, "label: cannot be used here, the graph is an object"),
        ({"graph": "mine/", "labels": LABELS}, "labels: cannot be used here, the graph is in files"),
        ({"graph": "mine/", "lable": "x"}, "unknown option 'lable': did you mean 'label'"),
        ({"graph": {"a": ["b"]}}, "no graph can be made of a builtins.dict"),
    ],
)
def test_what_does_not_go_together_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], words: str
) -> None:
    monkeypatch.chdir(folder.parent)
    with pytest.raises(UsageError, match=words):
        load_graph(**given)


def test_an_error_names_the_files(folder: Path) -> None:
    shutil.copy(folder / "edges.csv", folder.parent / "links.csv")
    with pytest.raises(DataError, match=r"links\.csv: .*there are no features"):
        load_graph(edges=folder.parent / "links.csv")
