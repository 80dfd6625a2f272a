"""Whatever files a graph is in, it is found, or the message says what was found and what was expected."""

from __future__ import annotations

import gzip
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.datasets import DATASETS
from confgcn.data.demo import load_demo
from confgcn.data.formats import tables
from confgcn.data.formats.delimited import read_delimited
from confgcn.data.formats.format import FileFormat, ObjectFormat
from confgcn.data.formats.npz import graph_npz_bytes
from confgcn.data.formats.registry import FILE_FORMATS, OBJECT_FORMATS, raw_graph, read_graph, write_graph
from confgcn.data.formats.table import TableOptions
from confgcn.data.load import load_graph
from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import DataError, ResourceError, UsageError
from confgcn.graph import Graph

EDGES = "source,target\na,b\nb,c\n"
NODES = "id,label,x\na,p,1\nb,q,2\nc,,3\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mine"
    made.mkdir()
    (made / "edges.csv").write_text(EDGES)
    (made / "nodes.csv").write_text(NODES)
    return made


def test_a_folder_of_tables_is_a_graph_of_its_name(folder: Path) -> None:
    raw = read_graph(folder)
    assert raw.name == "mine"
    assert raw.labels == ["p", "q", None]
    assert raw.features.tolist() == [[1], [2], [3]]


def test_every_format_of_a_table_gives_the_same_graph(folder: Path) -> None:
    wanted = read_graph(folder).build().fingerprint
    (folder / "nodes.tsv.gz").write_bytes(gzip.compress(NODES.replace(",", "\t").encode()))
    (folder / "nodes.csv").unlink()
    assert read_graph(folder).build().fingerprint == wanted
    parquet = folder.parent / "parquet"
    write_graph(read_graph(folder), parquet, folder_format="parquet")
    assert read_graph(parquet).build().fingerprint == wanted


def test_g09_line_ends_do_not_change_the_graph(folder: Path) -> None:
    wanted = read_graph(folder).build().fingerprint
    for name in ("edges.csv", "nodes.csv"):
        (folder / name).write_bytes((folder / name).read_bytes().rstrip(b"\n").replace(b"\n", b"\r\n"))
    assert read_graph(folder).build().fingerprint == wanted


def test_tables_may_be_named(folder: Path) -> None:
    wanted = read_graph(folder).build().fingerprint
    given = read_graph(None, edges=folder / "edges.csv", nodes=folder / "nodes.csv")
    assert given.name == "edges"
    assert given.build().fingerprint == wanted
    assert read_graph(folder / "edges.csv", nodes=folder / "nodes.csv").build().fingerprint == wanted


def test_a_table_of_edges_alone_is_a_graph_without_features(folder: Path) -> None:
    raw = read_graph(folder / "edges.csv")
    assert (raw.name, list(raw.ids), raw.features) == ("edges", ["a", "b", "c"], None)


def test_x06_without_features_the_message_says_what_to_ask_for(folder: Path) -> None:
    with pytest.raises(DataError, match=r"there are no features.*degree"):
        read_graph(folder / "edges.csv").build()


def test_ids_that_look_like_numbers_stay_texts(folder: Path) -> None:
    (folder / "edges.csv").write_text("source,target\n007,7\n")
    (folder / "nodes.csv").write_text("id,label,x\n007,1,1\n7,01,2\n")
    with pytest.raises(DataError, match="labels '1' and '01' are the same number"):
        read_graph(folder)
    (folder / "nodes.csv").write_text("id,label,x\n007,1,1\n7,02,2\n")
    raw = read_graph(folder)
    assert (list(raw.ids), raw.labels) == (["007", "7"], ["1", "02"])


def test_a_matrix_in_the_folder_or_elsewhere_is_joined(folder: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "more.npz", features=np.array([[7.0], [8], [9]]), ids=["c", "b", "a"])
    assert read_graph(folder, features=tmp_path / "more.npz").features.tolist() == [[1, 9], [2, 8], [3, 7]]
    shutil.copy(tmp_path / "more.npz", folder / "features.npz")
    assert read_graph(folder).features.tolist() == [[1, 9], [2, 8], [3, 7]]


@pytest.mark.parametrize("name", ["edges.tsv", "edges.csv.gz", "edges.parquet"])
def test_two_tables_of_edges_are_ambiguous(folder: Path, name: str) -> None:
    (folder / name).write_text(EDGES)
    with pytest.raises(DataError, match=rf"which one is it: .*{name}"):
        read_graph(folder)


def test_a_folder_without_a_graph_lists_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "edges.xlsx").write_text("")
    with pytest.raises(DataError, match=r"found edges\.xlsx; expected edges\.csv .*graphml.*ind\.NAME"):
        read_graph(tmp_path)
    (tmp_path / "edges.xlsx").unlink()
    with pytest.raises(DataError, match="found nothing; expected"):
        read_graph(tmp_path)


def test_g01_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        read_graph(tmp_path / "nowhere.csv")
    with pytest.raises(FileNotFoundError, match=r"nowhere\.npz"):
        read_graph(tmp_path / "nowhere.npz")


def test_g12_a_wrong_suffix_is_read_by_content_or_refused(folder: Path) -> None:
    (folder / "nodes.csv").rename(folder / "nodes.parquet")
    with pytest.raises(DataError, match=r"not a Parquet file, although its suffix is \.parquet"):
        read_graph(folder)
    (folder / "nodes.parquet").rename(folder / "nodes.csv")
    write_graph(read_graph(folder), folder.parent / "other", folder_format="parquet")
    (folder.parent / "other" / "nodes.parquet").rename(folder / "nodes.csv")
    assert read_graph(folder).labels == ["p", "q", None]


@pytest.mark.parametrize(
    ("path", "options"),
    [(None, {}), ("mine", {"edges": Path("edges.csv")}), ("mine", {"nodes": Path("nodes.csv")})],
)
def test_files_that_do_not_go_together_are_refused(folder: Path, path: str | None, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"no graph|give one of them|goes with --edges"):
        read_graph(None if path is None else folder.parent / path, **options)


def test_our_archive_and_graphml_are_read_by_suffix(folder: Path) -> None:
    raw = read_graph(folder)
    for name in ("g.npz", "g.graphml"):
        write_graph(raw, folder.parent / name)
        assert read_graph(folder.parent / name).build().fingerprint == raw.build().fingerprint


def test_options_of_tables_do_not_go_with_an_archive(folder: Path) -> None:
    path = folder.parent / "g.npz"
    write_graph(read_graph(folder), path)
    for given in ({"options": TableOptions(label="x")}, {"nodes": folder / "nodes.csv"}):
        with pytest.raises(UsageError, match="are for tables"):
            read_graph(path, **given)  # type: ignore[arg-type]


def test_x14_an_archive_must_have_the_features_of_the_training(folder: Path) -> None:
    path = folder.parent / "g.npz"
    write_graph(read_graph(folder), path)
    assert read_graph(path, like=["x", "graph:degree"]).feature_names == ["x"]
    with pytest.raises(DataError, match=r"trained with 2 features, here are 1; 1 differ, for example 'z'"):
        read_graph(path, like=["x", "z"])


def test_a_citation_archive_has_no_split(tmp_path: Path) -> None:
    parts: dict[str, Any] = {"labels": np.array([0, 1, -1])}
    for prefix, matrix in (("adj_", np.eye(3, k=1)), ("attr_", np.eye(3))):
        csr = sp.csr_matrix(matrix)
        parts |= {f"{prefix}{key}": getattr(csr, key) for key in ("data", "indices", "indptr")}
        parts[f"{prefix}shape"] = np.array(csr.shape)
    np.savez(tmp_path / "papers.npz", **parts)
    raw = read_graph(tmp_path / "papers.npz")
    assert (raw.name, raw.labels, raw.split) == ("papers", ["0", "1", None], None)
    assert raw.build().train.tolist() == [0, 1]
    np.savez(tmp_path / "papers.npz", a=np.ones(2))
    with pytest.raises(DataError, match=r"expected arrays adj_data.*found a"):
        read_graph(tmp_path / "papers.npz")


@pytest.mark.real_data
def test_planetoid_files_are_found_by_folder_or_prefix(data_dir: Path, tmp_path: Path) -> None:
    wanted = load_graph("cora", data_dir=data_dir)
    source = DATASETS["cora"].where(data_dir)
    assert source is not None
    shutil.copytree(source, tmp_path / "papers")
    for path in (tmp_path / "papers", tmp_path / "papers" / "ind.cora"):
        raw = read_graph(path)
        assert raw.name == "cora"
        assert raw.build().fingerprint == wanted.fingerprint
    with pytest.raises(UsageError, match="are for tables"):
        read_graph(tmp_path / "papers", TableOptions(label="x"))


def test_planetoid_files_of_two_graphs_ask_for_one(tmp_path: Path) -> None:
    for name in ("cora", "citeseer"):
        (tmp_path / f"ind.{name}.graph").touch()
    with pytest.raises(DataError, match=r"several graphs; name one: .*ind\.citeseer or .*ind\.cora"):
        read_graph(tmp_path)


def test_planetoid_files_that_are_missing_are_named(tmp_path: Path) -> None:
    (tmp_path / "ind.cora.graph").touch()
    with pytest.raises(ResourceError, match=r"suffixes x, y, tx, ty, allx, ally, test\.index are missing"):
        read_graph(tmp_path / "ind.cora")


def test_a_graph_comes_back_from_the_raw_graph_made_of_it() -> None:
    demo = load_demo()
    assert raw_from_graph(raw_from_graph(demo).build()).build().fingerprint == raw_from_graph(demo).build().fingerprint


def test_raw_keeps_classes_split_names_and_each_edge_once() -> None:
    graph = Graph.build(
        [[0, 1], [1, 0], [1, 2], [2, 2]],
        np.eye(3),
        [1, 1, -1],
        train=[0],
        test=[1],
        class_names=["u", "v"],
        node_names=["a", "b", "c"],
    )
    raw = raw_from_graph(graph)
    assert sorted(map(sorted, raw.edges.tolist())) == [[0, 1], [1, 2]]
    assert raw.labels == ["v", "v", None]
    assert raw.split == ["train", "test", ""]
    built = raw.build()
    assert (built.node_names, built.class_names) == (("a", "b", "c"), ("u", "v"))
    assert (built.labels.tolist(), built.train.tolist(), built.test.tolist()) == ([1, 1, -1], [0], [1])


def test_g19_a_table_that_changes_while_it_is_read_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def growing(path: Path, *rest: Any) -> Any:
        table = read_delimited(path, *rest)
        with (folder / "nodes.csv").open("a") as stream:
            stream.write("d,p,4\n")
        return table

    monkeypatch.setattr(tables, "read_delimited", growing)
    with pytest.raises(ResourceError, match=r"/mine/nodes\.csv: changed while it was read"):
        read_graph(folder)


@pytest.mark.parametrize("name", ["edges.csv", "graph.npz", "graph.graphml"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ResourceError, match=rf"/{name}: expected a file, found a pipe"):
        read_graph(tmp_path / name)


def test_what_is_wrong_in_an_archive_is_said_with_its_name(folder: Path) -> None:
    raw = read_graph(folder)
    broken = replace(raw, edges=np.array([[0, 99]]))
    (folder / "graph.npz").write_bytes(graph_npz_bytes(broken))
    with pytest.raises(DataError, match=r"graph\.npz: edges: row 0 names node 99"):
        read_graph(folder / "graph.npz")


def test_of_a_large_folder_a_message_lists_some(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}{'x' * 100}").touch()
    with pytest.raises(DataError, match="and 20 more") as raised:
        read_graph(tmp_path)
    assert len(str(raised.value)) < 1000


WRITTEN = [row for row in FILE_FORMATS if row.write is not None]


@pytest.mark.parametrize("row", WRITTEN, ids=lambda row: row.name)
def test_what_a_format_writes_it_recognises_first_and_reads_back(folder: Path, row: FileFormat) -> None:
    raw = read_graph(folder)
    path = folder.parent / ("written" if row.is_folder else f"written{row.suffixes[0]}")
    assert row.write is not None
    files = row.write(raw, path, overwrite=False)
    assert all(file.exists() for file in files)
    assert next(other for other in FILE_FORMATS if other.sniff(path)) is row
    assert read_graph(path).build().fingerprint == raw.build().fingerprint
    with pytest.raises(UsageError, match="exists"):
        row.write(raw, path, overwrite=False)
    assert row.write(raw, path, overwrite=True) == files


def test_every_format_has_a_name_of_its_own_and_a_description() -> None:
    rows = (*FILE_FORMATS, *OBJECT_FORMATS)
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.description for row in rows)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.jit, which PyG still uses
@pytest.mark.parametrize("row", [row for row in OBJECT_FORMATS if row.write is not None], ids=lambda row: row.name)
def test_an_object_that_a_format_makes_is_recognised_and_read_back(folder: Path, row: ObjectFormat) -> None:
    graph = read_graph(folder).build()
    assert row.write is not None
    made = row.write(graph)
    assert next(other for other in OBJECT_FORMATS if other.sniff(made)) is row
    assert raw_graph(made).build().fingerprint == graph.fingerprint
