"""Runs on a mapped graph: the same results, no copy, and a clear word when the graph is gone or another one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from confgcn.data.formats.graph_arrays import arrays_of_graph
from confgcn.data.formats.store_output import write_store
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError
from confgcn.graph import Graph
from confgcn.runs.graph_source import GraphFiles, files_of, in_memory, load_to_look_at, mapped_or_read, source_of
from confgcn.runs.mapped_output import arrays_of_source
from confgcn.runs.mapped_source import MappedGraph
from confgcn.runs.saved import finished_run, graph_of, load_run
from confgcn.runs.shares import Shares
from confgcn.runs.train import RunRequest, train


@pytest.fixture
def store(small_graph: Graph, tmp_path: Path) -> Path:
    return write_store(arrays_of_graph(small_graph), tmp_path / "store")


def trained(graph: Path | Graph | MappedGraph, out: Path) -> Path:
    train(RunRequest(graph, overrides={"epochs": 3}, out=out), notify=lambda _: None)
    return out


def test_a_path_to_a_mapped_graph_is_one(store: Path) -> None:
    source = source_of(store)
    assert source == source_of(str(store)) == MappedGraph(store)
    assert (source.name, source.is_named, source.needs_copy, source.draws_split) == ("store", False, False, False)
    assert files_of(source) == [store]
    assert in_memory(source) is source


def test_a_run_gives_the_same_bytes_and_keeps_no_copy(store: Path, small_graph: Graph, tmp_path: Path) -> None:
    one, other = trained(store, tmp_path / "one"), trained(small_graph, tmp_path / "other")
    assert (one / "predictions.csv").read_bytes() == (other / "predictions.csv").read_bytes()
    assert (other / "graph.npz").exists()
    assert not (one / "graph.npz").exists()
    source = json.loads((one / "config.json").read_text())["source"]
    assert source == {"path": str(store), "mapped_sha256": source["mapped_sha256"]}
    assert graph_of(one, load_run(one)).fingerprint == small_graph.fingerprint
    assert finished_run(one).graph.name == "store"


def test_shares_are_drawn_again_as_they_were(small_graph: Graph, tmp_path: Path) -> None:
    labelled = np.arange(small_graph.num_nodes)
    features, labels = small_graph.features.numpy(), small_graph.labels.numpy()  # type: ignore[union-attr]
    ends = np.concatenate([np.stack(block, 1) for block in small_graph.edge_blocks()])
    store = write_store(arrays_of_graph(Graph.build(ends, features, labels, train=labelled)), tmp_path / "store")
    run = trained(MappedGraph(store, Shares(validation=0.3, test=0.2)), tmp_path / "run")
    graph = graph_of(run, load_run(run))
    assert graph.fingerprint == MappedGraph(store, Shares(0.3, 0.2)).load(0).fingerprint
    assert load_run(run).predict(graph).logits.shape == (small_graph.num_nodes, small_graph.num_classes)


def test_a_graph_that_is_gone_or_another_one_is_told(store: Path, six_nodes: Graph, tmp_path: Path) -> None:
    run = trained(store, tmp_path / "run")
    store.rename(tmp_path / "moved")
    with pytest.raises(ResourceError, match=r"store/mapped\.json: missing; .*put it back"):
        graph_of(run, load_run(run))
    write_store(arrays_of_graph(six_nodes), store)
    with pytest.raises(DataError, match="another graph than the one"):
        graph_of(run, load_run(run))


def test_damage_is_found_before_anything_is_trained(store: Path, tmp_path: Path) -> None:
    content = bytearray((store / "features.npy").read_bytes())
    content[-1] ^= 1
    (store / "features.npy").write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"features\.npy"):
        trained(store, tmp_path / "run")
    with pytest.raises(CorruptFileError, match=r"features\.npy"):
        load_to_look_at(MappedGraph(store), 0)
    assert not (tmp_path / "run").exists()


def test_a_graph_that_changes_between_two_seeds_is_told(store: Path, six_nodes: Graph) -> None:
    source = MappedGraph(store)
    source.load(0)
    write_store(arrays_of_graph(six_nodes), store, overwrite=True)
    with pytest.raises(ResourceError, match="changed since"):
        source.load(0)


def test_options_of_files_belong_to_the_conversion(store: Path) -> None:
    with pytest.raises(UsageError, match="as it was made"):
        mapped_or_read(GraphFiles(store, structural=("degree",)))


def test_arrays_in_a_folder_are_taken_in_blocks_and_all_else_from_memory(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    folder.mkdir()
    for name, array in {"edges": [[0, 1]], "features": np.ones((2, 1)), "labels": [0, 1]}.items():
        np.save(folder / f"{name}.npy", array)
    with arrays_of_source(GraphFiles(folder)) as arrays:
        assert arrays.node_names is None
    with arrays_of_source(GraphFiles(folder, structural=("degree",))) as arrays:
        assert arrays.num_features > 1
    with arrays_of_source(MappedGraph(store)) as arrays:
        assert arrays.num_nodes == 120
