"""The named graphs are the published ones, and other files are refused."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from confgcn.data.datasets import DATASETS
from confgcn.data.formats.array_files import npz_keys, read_npz
from confgcn.data.formats.planetoid import SUFFIXES
from confgcn.data.load import load_graph
from confgcn.exceptions import DataError, ResourceError, UsageError
from confgcn.graph import EdgeCounts, Graph

load = cache(load_graph)


def sizes(graph: Graph) -> tuple[int, int, int]:
    return graph.num_nodes, graph.num_features, graph.num_classes


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "expected", "edges", "train"),
    [
        ("cora", (2708, 1433, 7), EdgeCounts(listed=10858, duplicates=302, loops=0, one_way=0, unique=5278), 140),
        ("citeseer", (3327, 3703, 6), EdgeCounts(listed=9464, duplicates=236, loops=124, one_way=0, unique=4552), 120),
        ("pubmed", (19717, 500, 3), EdgeCounts(listed=88676, duplicates=25, loops=3, one_way=0, unique=44324), 60),
    ],
)
def test_planetoid_graphs_have_the_published_counts(
    data_dir: Path, name: str, expected: tuple[int, int, int], edges: EdgeCounts, train: int
) -> None:
    graph = load(name, data_dir=data_dir)
    assert sizes(graph) == expected
    assert graph.edge_counts == edges
    assert graph.train.tolist() == list(range(train))
    assert graph.validation.tolist() == list(range(train, train + 500))
    assert len(graph.test) == 1000


@pytest.mark.real_data
def test_citeseer_has_fifteen_nodes_without_features_and_label(data_dir: Path) -> None:
    graph = load("citeseer", data_dir=data_dir)
    assert int((graph.labels == -1).sum()) == 15
    assert "48 isolated nodes: they have no neighbours" in graph.notices()
    assert "15 nodes have no feature other than zero" in graph.notices()


@pytest.mark.real_data
def test_cora_ml_has_the_published_counts(data_dir: Path) -> None:
    graph = load("cora_ml", data_dir=data_dir)
    assert sizes(graph) == (2995, 2879, 7)
    assert (graph.edge_counts.listed, graph.edge_counts.unique) == (8416, 8158)
    assert (len(graph.train), len(graph.validation), len(graph.test)) == (500, 500, 1000)


@pytest.mark.real_data
def test_cora_ml_is_split_by_the_split_seed(data_dir: Path) -> None:
    zero, one = load("cora_ml", data_dir=data_dir), load("cora_ml", data_dir=data_dir, split_seed=1)
    assert load_graph("cora_ml", data_dir=data_dir, split_seed=1).fingerprint == one.fingerprint
    assert zero.train.tolist() != one.train.tolist()
    assert zero.labels.tolist() == one.labels.tolist()


@pytest.mark.real_data
def test_the_split_seed_does_not_touch_a_public_split(data_dir: Path) -> None:
    other = load_graph("cora", data_dir=data_dir, split_seed=1)
    assert other.fingerprint == load("cora", data_dir=data_dir).fingerprint


@pytest.mark.real_data
def test_s18_cora_ml_with_altered_content_is_refused(data_dir: Path, tmp_path: Path) -> None:
    published = Path(DATASETS["cora_ml"].where(data_dir) or "") / "cora_ml.npz"
    arrays = read_npz(published, [key for key in npz_keys(published) if key.startswith(("adj", "attr", "labels"))])
    np.savez(tmp_path / "cora_ml.npz", **arrays)
    assert load_graph("cora_ml", data_dir=tmp_path).fingerprint == load("cora_ml", data_dir=data_dir).fingerprint
    arrays["labels"][0] = (arrays["labels"][0] + 1) % 7
    np.savez(tmp_path / "cora_ml.npz", **arrays)
    with pytest.raises(DataError, match=r"cora_ml\.npz: its content is not that of the published"):
        load_graph("cora_ml", data_dir=tmp_path)


@pytest.mark.parametrize(("name", "near"), [("citeseers", "citeseer"), ("corra", "cora"), ("Pubmed", "pubmed")])
def test_n06_an_unknown_name_gets_the_nearest_one(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"unknown graph '{name}': did you mean '{near}'") as caught:
        load_graph(name)
    assert all(known in str(caught.value) for known in DATASETS)


def test_demo_needs_no_files() -> None:
    assert DATASETS["demo"].where() == "inside the package"
    assert load_graph("demo").name == "demo"


def test_where_is_none_when_the_files_are_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONFGCN_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert DATASETS["cora"].where() is None


def test_a_missing_data_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResourceError, match="absent"):
        load_graph("cora", data_dir=str(tmp_path / "absent"))


def test_every_published_file_has_a_checksum() -> None:
    for name in ("citeseer", "cora", "pubmed"):
        files = DATASETS[name].files
        assert files is not None
        assert files.checksums.keys() == {f"ind.{name}.{suffix}" for suffix in SUFFIXES}
        assert all(len(checksum) == 64 for checksum in files.checksums.values())


def test_an_error_in_a_file_of_a_named_graph_names_its_folder(tmp_path: Path) -> None:
    matrix = {"data": [1.0], "indices": [1], "indptr": [0, 1, 1], "shape": [2, 2]}
    parts = {f"{prefix}_{part}": np.array(value) for prefix in ("adj", "attr") for part, value in matrix.items()}
    np.savez(tmp_path / "cora_ml.npz", **parts, labels=np.array([0, 1, 0]))
    with pytest.raises(DataError, match=rf"{tmp_path}: labels: expected one per node, shape \(2,\), got \(3,\)"):
        load_graph("cora_ml", data_dir=tmp_path)
