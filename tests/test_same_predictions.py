"""One graph in twelve guises gives the same bits: no format, order of rows or library changes a result."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from confgcn.data.formats.registry import read_graph, write_graph
from confgcn.data.raw import RawGraph
from confgcn.estimator import ConfGCNClassifier
from confgcn.runs.graph_input import GraphFiles
from confgcn.runs.request import RunRequest
from confgcn.runs.train import train

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    from torch_geometric.data import Data

NODES, COLUMNS = 60, 7
DRAWN = np.random.default_rng(5)
LABELS = np.where(np.arange(NODES) % 4 < 3, np.arange(NODES) % 3, -1)
FEATURES = (np.eye(3, COLUMNS)[np.arange(NODES) % 3] + DRAWN.normal(size=(NODES, COLUMNS))).astype(np.float32)
PAIRS = sorted({(a, b) for a, b in DRAWN.integers(0, NODES - 1, size=(150, 2)).tolist() if a < b})  # 59 is isolated
SHUFFLED = DRAWN.permutation(NODES)
NAMES = [f"f{column}" for column in range(COLUMNS)]


def raw(order: Any = None, pairs: list[tuple[int, int]] = PAIRS) -> RawGraph:
    order = np.arange(NODES) if order is None else order
    place = {int(node): position for position, node in enumerate(order)}
    return RawGraph(
        name="graph",
        ids=[str(node) for node in order],
        edges=np.array([(place[source], place[target]) for source, target in pairs]),
        features=FEATURES[order],
        feature_names=NAMES,
        labels=[None if label < 0 else str(label) for label in LABELS[order]],
    )


def written(path: Path, graph: RawGraph, **options: Any) -> Any:
    write_graph(graph, path, **options)
    return GraphFiles(path).load(0)


def csv_folder(folder: Path) -> Any:
    return written(folder / "csv", raw())


def shuffled_csv_folder(folder: Path) -> Any:
    pairs = [(target, source) if place % 2 else (source, target) for place, (source, target) in enumerate(PAIRS)]
    written(folder / "csv", raw(SHUFFLED, pairs[::-1]))
    nodes = pd.read_csv(folder / "csv" / "nodes.csv", dtype=str, keep_default_na=False)
    nodes[["label", *NAMES[::-1], "id"]].to_csv(folder / "csv" / "nodes.csv", index=False)
    return GraphFiles(folder / "csv").load(0)


def tsv_gz_folder(folder: Path) -> Any:
    written(folder / "csv", raw())
    (folder / "tsv").mkdir()
    for stem in ("nodes", "edges"):
        text = (folder / "csv" / f"{stem}.csv").read_text().replace(",", "\t")
        (folder / "tsv" / f"{stem}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    return GraphFiles(folder / "tsv").load(0)


def parquet_folder(folder: Path) -> Any:
    return written(folder / "parquet", raw(SHUFFLED), folder_format="parquet")


def own_npz(folder: Path) -> Any:
    return written(folder / "graph.npz", raw(SHUFFLED))


def graphml(folder: Path) -> Any:
    return written(folder / "graph.graphml", raw(SHUFFLED))


def citation_npz(folder: Path) -> Any:
    matrices = {"adj_": adjacency(), "attr_": sp.csr_matrix(FEATURES)}
    parts = {
        f"{prefix}{part}": getattr(matrix, part)
        for prefix, matrix in matrices.items()
        for part in ("data", "indices", "indptr", "shape")
    }
    np.savez(folder / "citation.npz", **parts, labels=LABELS)
    return GraphFiles(folder / "citation.npz").load(0)


def adjacency() -> sp.csr_matrix:
    source, target = np.array(PAIRS).T
    return sp.csr_matrix((np.ones(len(PAIRS)), (source, target)), shape=(NODES, NODES))


def scipy_sparse(folder: Path) -> Any:
    return adjacency(), FEATURES, LABELS


def networkx_graph(folder: Path) -> Any:
    graph = nx.Graph()
    for node in SHUFFLED.tolist():
        graph.add_node(node, x=FEATURES[node], **({} if LABELS[node] < 0 else {"label": int(LABELS[node])}))
    graph.add_edges_from(PAIRS[::-1])
    return graph


def pyg_data(folder: Path) -> Any:
    return Data(x=torch.from_numpy(FEATURES), edge_index=torch.tensor(PAIRS).T, y=torch.from_numpy(LABELS))


def dgl_look_alike(folder: Path) -> Any:
    source, target = torch.tensor(PAIRS).T
    return SimpleNamespace(
        edges=lambda: (source, target),
        num_nodes=lambda: NODES,
        ndata={"feat": torch.from_numpy(FEATURES), "label": torch.from_numpy(LABELS)},
    )


def pandas_frames(folder: Path) -> Any:
    labels = [None if label < 0 else str(label) for label in LABELS[SHUFFLED]]
    nodes = pd.DataFrame(FEATURES[SHUFFLED], columns=NAMES).assign(id=SHUFFLED, label=labels)
    return pd.DataFrame(PAIRS, columns=["source", "target"]), nodes


GUISES: list[Callable[[Path], Any]] = [
    shuffled_csv_folder,
    tsv_gz_folder,
    parquet_folder,
    own_npz,
    citation_npz,
    graphml,
    networkx_graph,
    scipy_sparse,
    pyg_data,
    pandas_frames,
    dgl_look_alike,
]


def fit(given: Any) -> ConfGCNClassifier:
    estimator = ConfGCNClassifier(settings={"epochs": 20}, random_state=3)
    arrays = isinstance(given, tuple) and sp.issparse(given[0])
    return estimator.fit(*(given if arrays else (given,)), notify=lambda _: None)  # twenty epochs teach it little


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> ConfGCNClassifier:
    return fit(csv_folder(tmp_path_factory.mktemp("reference")))


@pytest.mark.parametrize("guise", GUISES, ids=lambda guise: guise.__name__)
def test_every_guise_of_a_graph_gives_the_same_bits(
    guise: Callable[[Path], Any], reference: ConfGCNClassifier, tmp_path: Path
) -> None:
    estimator = fit(guise(tmp_path))
    rows = [estimator.nodes_.tolist().index(node) for node in reference.nodes_]
    assert estimator.classes_.tolist() == reference.classes_.tolist() == [0, 1, 2]
    assert estimator.predict_proba()[rows].tobytes() == reference.predict_proba().tobytes()
    assert estimator.run_.graph.fingerprint == reference.run_.graph.fingerprint


def test_the_same_bits_are_not_those_of_any_graph(reference: ConfGCNClassifier) -> None:
    other = fit((adjacency(), FEATURES[::-1], LABELS))
    assert other.predict_proba().tobytes() != reference.predict_proba().tobytes()


def test_the_command_line_leaves_the_same_file_for_any_format(reference: ConfGCNClassifier, tmp_path: Path) -> None:
    found = []
    for tables, order in (("csv", None), ("parquet", SHUFFLED)):
        write_graph(raw(order), tmp_path / tables, folder_format=tables)
        out = tmp_path / f"run-{tables}"
        train(RunRequest(tmp_path / tables, seed=3, overrides={"epochs": 20}, out=out), notify=lambda _: None)
        found.append((out / "predictions.csv").read_bytes())
        assert ConfGCNClassifier.load(out).predict_proba().tobytes() == reference.predict_proba().tobytes()
    assert found[0] == found[1]
    assert found[0].count(b"\n") == NODES + 1


def test_a_round_trip_through_every_format_changes_no_byte(tmp_path: Path) -> None:
    stations = ["a.npz", "b.graphml", "c", "d"]
    last = tmp_path / "csv"
    write_graph(raw(SHUFFLED), last)
    for station in stations:
        tables = "parquet" if station == "c" else "csv"
        write_graph(read_graph(last), tmp_path / station, folder_format=tables)
        last = tmp_path / station
    for name in ("nodes.csv", "edges.csv"):
        assert (tmp_path / "d" / name).read_bytes() == (tmp_path / "csv" / name).read_bytes()
    assert (tmp_path / "c" / "nodes.parquet").is_file()
