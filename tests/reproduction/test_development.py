"""Graphs in the development format: where they are found, how they are read, which splits are for what."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.exceptions import DataError, UsageError
from confgcn.sparse import SparseMatrix
from reproduction.development import (
    design_splits,
    development_folder,
    development_graphs,
    load_development_graph,
    report_splits,
    table_order,
)


def test_every_folder_with_the_four_files_is_a_graph(development: Path) -> None:
    (development / "notes").mkdir()
    (development / "README.md").touch()
    assert development_graphs(development) == {name: development / name for name in ("groups", "halves")}


def test_the_default_is_a_folder_beside_the_data_sets(development: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFGCN_DATA", str(development.parent))
    assert development_folder(None) == development
    monkeypatch.setenv("CONFGCN_DATA", str(development))
    assert development_folder(None) is None
    assert development_graphs(None) == {}
    monkeypatch.delenv("CONFGCN_DATA")
    assert development_folder(None) is None


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a folder; --development takes"):
        development_folder(tmp_path / "nowhere")


def test_a_graph_has_the_edges_labels_and_split_of_its_files(development: Path) -> None:
    folder = development / "groups"
    graph = load_development_graph(folder, 2)
    split = np.load(folder / "splits.npy")[2]
    assert (graph.name, graph.num_nodes, graph.num_classes, graph.num_features) == ("groups", 120, 4, 8)
    for code, nodes in ((1, graph.train), (2, graph.validation), (3, graph.test)):
        assert nodes.tolist() == np.flatnonzero(split == code).tolist()
    assert graph.labels.tolist() == np.load(folder / "labels.npy").tolist()
    assert graph.neighbours.num_entries == 2 * len(np.load(folder / "edges.npy"))


def test_features_are_sparse_only_where_few_are_not_zero(development: Path) -> None:
    assert isinstance(load_development_graph(development / "groups", 0).features, torch.Tensor)
    sp.save_npz(development / "halves" / "features.npz", sp.eye(120, format="csr", dtype=np.float32))
    assert isinstance(load_development_graph(development / "halves", 0).features, SparseMatrix)


def test_the_first_half_of_the_splits_is_for_design_and_the_second_for_reports(development: Path) -> None:
    assert list(design_splits(development / "groups")) == [0, 1]
    assert list(report_splits(development / "groups")) == [2, 3]


def test_a_split_that_does_not_exist_is_refused(development: Path) -> None:
    with pytest.raises(UsageError, match="has splits 0 to 3, not 4"):
        load_development_graph(development / "groups", 4)


def test_splits_of_another_number_of_nodes_are_refused(development: Path) -> None:
    np.save(development / "groups" / "splits.npy", np.ones((2, 7), dtype=np.int8))
    with pytest.raises(DataError, match=r"expected \(splits, 120 nodes\), found \(2, 7\)"):
        load_development_graph(development / "groups", 0)


def test_an_unreadable_file_is_named(development: Path) -> None:
    (development / "halves" / "labels.npy").write_bytes(b"labels")
    with pytest.raises(DataError, match=r"labels\.npy: cannot be read"):
        load_development_graph(development / "halves", 0)


def test_named_graphs_come_before_others() -> None:
    assert sorted(["zoo", "actor", "animals", "minesweeper"], key=table_order) == [
        "minesweeper",
        "actor",
        "animals",
        "zoo",
    ]
