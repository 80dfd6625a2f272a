"""Folders of tables: which files belong to the graph. What the tables hold is tested with their formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confgcn.data.formats.format import FileFormat, FileRequest
from confgcn.data.formats.tables import CSV, PARQUET, read_matrix, read_tables
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError, UsageError

RAW = RawGraph("g", ["a", "b", "c"], np.array([[0, 1], [1, 2]]), np.eye(3), labels=["x", "y", None])


@pytest.mark.parametrize("row", [CSV, PARQUET], ids=lambda row: row.name)
def test_a_folder_has_a_table_of_nodes_and_one_of_edges(tmp_path: Path, row: FileFormat) -> None:
    assert row.write is not None
    files = row.write(RAW, tmp_path / "g", overwrite=False)
    assert sorted(file.stem for file in files) == ["edges", "nodes"]
    read = read_tables(FileRequest(tmp_path / "g"))
    assert read.name == "g"
    assert list(read.ids) == RAW.ids
    assert read.edges.tolist() == RAW.edges.tolist()
    assert read.labels == RAW.labels


def test_a_matrix_beside_the_tables_is_read(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    (tmp_path / "nodes.csv").write_text("id,label\n0,x\n1,y\n")
    np.save(tmp_path / "features.npy", np.array([[1.0], [2.0]]))
    assert np.asarray(read_tables(FileRequest(tmp_path)).features).tolist() == [[1.0], [2.0]]


def test_without_a_path_there_is_no_matrix() -> None:
    assert read_matrix(None) is None


def test_a_folder_without_edges_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no table of edges"):
        read_tables(FileRequest(tmp_path))


def test_a_table_of_nodes_does_not_go_with_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="goes with --edges, not with the folder"):
        read_tables(FileRequest(tmp_path, nodes=tmp_path / "nodes.csv"))
