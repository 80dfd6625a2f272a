"""Runs on mapped and sharded graphs: the same results without a copy, and an error where the graph has changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.formats.store_writing import arrays_of_graph, write_store
from confgcn.data.raw import raw_from_graph
from confgcn.data.synthetic import block_model
from confgcn.distributed.shard_files import MANIFEST, ShardFolder
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError
from confgcn.graph import Graph
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.runs.graph_input import (
    GraphFiles,
    InMemoryGraph,
    arrays_for_mapping,
    as_input,
    files_input,
    in_memory,
    input_files,
    load_for_inspection,
)
from confgcn.runs.request import RunRequest
from confgcn.runs.saved import load_run
from confgcn.runs.stored_graph import MAPPED, SHARDED, MappedGraph, ShardedGraph, Shares, make_shards, recorded_graph
from confgcn.runs.train import train


@pytest.fixture
def store(small_graph: Graph, tmp_path: Path) -> Path:
    return write_store(arrays_of_graph(small_graph), tmp_path / "store")


def trained(graph: Path | Graph | MappedGraph, out: Path) -> Path:
    train(RunRequest(graph, overrides={"epochs": 3}, out=out), notify=lambda _: None)
    return out


def test_a_path_to_a_mapped_graph_is_one(store: Path) -> None:
    given = as_input(store)
    assert given == as_input(str(store)) == MappedGraph(store)
    assert (given.name, given.is_named, given.needs_copy, given.draws_split) == ("store", False, False, False)
    assert input_files(given) == [store]
    assert in_memory(given) is given


def test_a_run_gives_the_same_bytes_and_keeps_no_copy(store: Path, small_graph: Graph, tmp_path: Path) -> None:
    one, other = trained(store, tmp_path / "one"), trained(small_graph, tmp_path / "other")
    assert (one / "predictions.csv").read_bytes() == (other / "predictions.csv").read_bytes()
    assert (other / "graph.npz").exists()
    assert not (one / "graph.npz").exists()
    given = json.loads((one / "config.json").read_text())["input"]
    assert given == {"path": str(store), "mapped_sha256": given["mapped_sha256"]}
    assert load_run(one).graph.fingerprint == small_graph.fingerprint
    assert load_run(one).graph.name == "store"


def test_shares_are_drawn_again_as_they_were(small_graph: Graph, tmp_path: Path) -> None:
    labelled = np.arange(small_graph.num_nodes)
    features, labels = small_graph.features.numpy(), small_graph.labels.numpy()  # type: ignore[union-attr]
    ends = np.concatenate([np.stack(block, 1) for block in small_graph.edge_blocks()])
    store = write_store(arrays_of_graph(Graph.build(ends, features, labels, train=labelled)), tmp_path / "store")
    run = trained(MappedGraph(store, Shares(validation=0.3, test=0.2)), tmp_path / "run")
    graph = load_run(run).graph
    assert graph.fingerprint == MappedGraph(store, Shares(0.3, 0.2)).load(0).fingerprint
    assert load_run(run).probabilities.shape == (small_graph.num_nodes, small_graph.num_classes)


def test_a_graph_that_is_gone_or_another_one_is_told(store: Path, six_nodes: Graph, tmp_path: Path) -> None:
    run = trained(store, tmp_path / "run")
    store.rename(tmp_path / "moved")
    with pytest.raises(ResourceError, match=r"store/mapped\.json: missing; .*put it back"):
        _ = load_run(run).graph
    write_store(arrays_of_graph(six_nodes), store)
    with pytest.raises(DataError, match="not the graph that the run was trained on"):
        _ = load_run(run).graph


def test_damage_is_found_before_anything_is_trained(store: Path, tmp_path: Path) -> None:
    content = bytearray((store / "features.npy").read_bytes())
    content[-1] ^= 1
    (store / "features.npy").write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"features\.npy"):
        trained(store, tmp_path / "run")
    with pytest.raises(CorruptFileError, match=r"features\.npy"):
        load_for_inspection(MappedGraph(store), 0)
    assert not (tmp_path / "run").exists()


def test_a_graph_that_changes_between_two_seeds_is_told(store: Path, six_nodes: Graph) -> None:
    given = MappedGraph(store)
    given.load(0)
    write_store(arrays_of_graph(six_nodes), store, overwrite=True)
    with pytest.raises(ResourceError, match="changed since"):
        given.load(0)


def test_options_of_files_belong_to_the_conversion(store: Path) -> None:
    with pytest.raises(UsageError, match="takes no options"):
        files_input(GraphFiles(store, structural=("degree",)))


def test_arrays_in_a_folder_are_taken_in_blocks_and_all_else_from_memory(store: Path, tmp_path: Path) -> None:
    folder = tmp_path / "arrays"
    folder.mkdir()
    for name, array in {"edges": [[0, 1]], "features": np.ones((2, 1)), "labels": [0, 1]}.items():
        np.save(folder / f"{name}.npy", array)
    with arrays_for_mapping(GraphFiles(folder)) as arrays:
        assert arrays.node_names is None
    with arrays_for_mapping(GraphFiles(folder, structural=("degree",))) as arrays:
        assert arrays.num_features > 1
    with arrays_for_mapping(MappedGraph(store)) as arrays:
        assert arrays.num_nodes == 120


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    make_shards(tmp_path / "shards", block_model(200, seed=0), 2, how="hash", split_seed=3)
    return tmp_path / "shards"


def test_a_run_finds_its_shards_again(shards: Path) -> None:
    given = ShardedGraph(shards)
    graph = given.load(3)
    again = recorded_graph(given.record())
    assert again is not None
    assert again.fingerprint == graph.fingerprint
    assert recorded_graph({"input": {"path": str(shards)}}) is None


def test_another_split_is_refused(shards: Path) -> None:
    with pytest.raises(UsageError, match="made with split seed 3, not 0"):
        ShardedGraph(shards).load(0)


def test_other_shards_are_refused(shards: Path) -> None:
    record = ShardedGraph(shards).record()
    write_checksummed_json(shards / MANIFEST, {**read_checksummed_json(shards / MANIFEST), "name": "other"})
    with pytest.raises(DataError, match="not the shards"):
        recorded_graph(record)


def test_shards_that_are_gone(shards: Path, tmp_path: Path) -> None:
    record = ShardedGraph(shards).record()
    shards.rename(tmp_path / "elsewhere")
    with pytest.raises(ResourceError, match=MANIFEST):
        recorded_graph(record)


@pytest.mark.parametrize("path", [None, True, 1.5, ["a"]])
def test_a_place_that_is_none(shards: Path, path: Any) -> None:
    place = {} if path is None else {"path": path}
    with pytest.raises(CorruptFileError, match="expected the path of the graph"):
        recorded_graph({"input": {SHARDED: ShardFolder(shards).sha256, **place}})
    with pytest.raises(CorruptFileError, match="expected the path of the graph"):
        recorded_graph({"input": {MAPPED: "0", **place}})


def test_shares_are_drawn_by_the_split_seed_and_checked(small_graph: Graph) -> None:
    raw = raw_from_graph(small_graph)

    given = InMemoryGraph(replace(raw, split=None).build(), Shares(validation=0.2, test=0.2))
    assert given.draws_split
    assert given.load(0).test.tolist() == given.load(0).test.tolist() != given.load(1).test.tolist()
    with pytest.raises(UsageError, match="a split of its own"):
        InMemoryGraph(small_graph, Shares(test=0.2)).load(0)
    for wrong in ({"test": 1.0}, {"validation": -0.1}, {"validation": 0.6, "test": 0.4}):
        with pytest.raises(UsageError, match="share"):
            Shares(**wrong)
