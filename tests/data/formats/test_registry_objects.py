"""One graph of thirty nodes, given as an object of every library, is the same graph."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
import torch

from confgcn.data.formats.registry import raw_graph
from confgcn.data.raw import RawGraph
from confgcn.exceptions import ConfGCNError, DataError, UsageError
from confgcn.graph.graph import SPLITS

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    from torch_geometric.data import Data, HeteroData

NODES = 30
DRAWN = np.random.default_rng(0)
EDGES = DRAWN.integers(0, NODES - 1, size=(60, 2))  # node 29 is isolated
FEATURES = DRAWN.normal(size=(NODES, 4)).astype(np.float32)
LABELS = np.where(np.arange(NODES) % 5 == 4, -1, np.arange(NODES) % 3)
SPLIT = [("" if label < 0 else SPLITS[node % 4 % 3]) for node, label in enumerate(LABELS)]
MASKS = {part: np.array([text == part for text in SPLIT]) for part in SPLITS}
REFERENCE = RawGraph(
    name="thirty",
    ids=[str(node) for node in range(NODES)],
    edges=EDGES,
    features=FEATURES,
    labels=[None if label < 0 else str(label) for label in LABELS],
    split=SPLIT,
)


def as_pyg() -> Data:
    return Data(
        x=torch.from_numpy(FEATURES),
        edge_index=torch.from_numpy(EDGES.T),
        y=torch.from_numpy(LABELS),
        train_mask=torch.from_numpy(MASKS["train"]),
        val_mask=torch.from_numpy(MASKS["validation"]),
        test_mask=torch.from_numpy(MASKS["test"]),
    )


def as_networkx(kind: type[networkx.Graph] = networkx.Graph) -> networkx.Graph:
    graph = kind()
    for node in np.random.default_rng(1).permutation(NODES).tolist():
        known = {"label": int(LABELS[node])} if LABELS[node] >= 0 else {}
        graph.add_node(node, x=FEATURES[node], split=SPLIT[node], **known)
    graph.add_edges_from(EDGES.tolist())
    return graph


def as_scipy() -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(EDGES)), EDGES.T), shape=(NODES, NODES)) != 0


class FakeDGL:
    """The attributes of DGL's graphs that are read."""

    ntypes, etypes = ("_N",), ("_E",)

    def __init__(self) -> None:
        masks = {"train_mask": "train", "val_mask": "validation", "test_mask": "test"}
        self.ndata: dict[str, Any] = {"feat": torch.from_numpy(FEATURES), "label": torch.from_numpy(LABELS)}
        self.ndata |= {key: torch.from_numpy(MASKS[part]) for key, part in masks.items()}
        self.edata: dict[str, Any] = {}

    def edges(self) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.from_numpy(EDGES[:, 0].copy()), torch.from_numpy(EDGES[:, 1].copy())

    def num_nodes(self) -> int:
        return NODES


def as_frames() -> tuple[pandas.DataFrame, pandas.DataFrame]:
    nodes = pandas.DataFrame(FEATURES, columns=[f"f{column}" for column in range(4)])
    nodes = nodes.assign(id=range(NODES), label=LABELS, split=SPLIT)
    return pandas.DataFrame(EDGES, columns=["source", "target"]), nodes.sample(frac=1.0, random_state=0)


BESIDE = {"features": FEATURES, "labels": LABELS, "split": MASKS}
GIVEN: dict[str, tuple[Any, dict[str, Any]]] = {
    "raw": (REFERENCE, {}),
    "our own graph": (REFERENCE.build(), {}),
    "pyg": (as_pyg(), {}),
    "networkx, shuffled": (as_networkx(), {}),
    "directed": (as_networkx(networkx.DiGraph), {}),
    "parallel edges": (as_networkx(networkx.MultiGraph), {}),
    "dgl": (FakeDGL(), {}),
    "frames, shuffled": (as_frames(), {}),
    "scipy": (as_scipy(), BESIDE),
    "scipy coo with repeated entries": (sp.coo_array((np.ones(60), EDGES.T), shape=(NODES, NODES)), BESIDE),
    "numpy": (as_scipy().toarray(), BESIDE),
    "torch": (torch.from_numpy(as_scipy().toarray()), BESIDE),
    "torch, sparse": (torch.from_numpy(as_scipy().toarray()).to_sparse(), BESIDE),
    "edge index": (torch.from_numpy(EDGES.T), BESIDE),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_every_object_gives_the_same_graph(kind: str) -> None:
    graph, beside = GIVEN[kind]
    assert raw_graph(graph, **beside).build().fingerprint == REFERENCE.build().fingerprint


def test_an_object_of_another_kind_is_named_with_what_is_accepted() -> None:
    with pytest.raises(UsageError, match=r"builtins\.dict: pass a Graph.*networkx.*pandas"):
        raw_graph({"a": ["b"]})


def test_a_graph_of_ours_comes_back_as_it_is() -> None:
    assert raw_graph(REFERENCE) is REFERENCE
    assert raw_graph(REFERENCE, name="other").name == "other"
    assert raw_graph(REFERENCE.build()).name == "thirty"


def test_what_is_given_beside_a_graph_takes_the_place_of_its_own() -> None:
    for graph in (REFERENCE, REFERENCE.build(), as_pyg(), as_networkx(), FakeDGL()):
        raw = raw_graph(graph, labels=["yes"] * NODES, split=["train"] * NODES)
        assert raw.labels == ["yes"] * NODES
        assert raw.build().class_names == ("yes",)
        assert len(raw.build().train) == NODES


def test_the_own_names_go_with_what_they_are_the_names_of() -> None:
    named = replace(REFERENCE, feature_names=["a", "b", "c", "d"], class_names=["0", "1", "2", "3"])
    assert raw_graph(named, split=SPLIT).build().feature_names == ("a", "b", "c", "d")
    assert raw_graph(named, split=SPLIT).build().num_classes == 4
    assert raw_graph(named, features=FEATURES[:, :2]).feature_names is None
    assert raw_graph(named, labels=["x"] * NODES).class_names is None


def test_names_of_nodes_come_along_and_mappings_are_read_by_them() -> None:
    names = [f"n{node}" for node in reversed(range(NODES))]
    raw = raw_graph(as_scipy(), FEATURES, {"n3": "a", "n4": "b"}, node_names=names)
    assert raw.ids == tuple(names)
    assert [name for name, label in zip(names, raw.labels, strict=True) if label == "a"] == ["n3"]
    assert raw.labels.count(None) == NODES - 2


def hetero() -> HeteroData:
    data = HeteroData()
    data["paper"].x = torch.ones(2, 2)
    return data


def pyg_with(**attributes: Any) -> Data:
    data = as_pyg()
    for key, value in attributes.items():
        data[key] = value
    return data


def dgl_with(**attributes: Any) -> FakeDGL:
    graph = FakeDGL()
    for key, value in attributes.items():
        setattr(graph, key, value)
    return graph


TWO_SPLITS = torch.from_numpy(np.stack([MASKS["train"]] * 2, 1))
HALVES = torch.full((NODES,), 0.5)
WRONG: dict[str, tuple[Any, str]] = {
    "several kinds of nodes": (hetero(), "HeteroData.*to_homogeneous"),
    "edge weights": (pyg_with(edge_weight=torch.ones(60)), "edge_weight = None"),
    "edge attributes": (pyg_with(edge_attr=torch.ones(60, 2)), "edge_attr = None"),
    "kinds of edges": (pyg_with(edge_type=torch.zeros(60)), r"edge_type; weights and types .*data\.edge_type = None"),
    "far too many nodes": (Data(edge_index=torch.tensor([[0], [1]]), num_nodes=10**12), "number of nodes: expected 0"),
    "several splits": (pyg_with(train_mask=TWO_SPLITS), r"holds 2 splits; pass one, mask\[:, 0\]"),
    "overlapping masks": (pyg_with(val_mask=torch.from_numpy(MASKS["train"])), "train and validation share"),
    "empty mask": (pyg_with(test_mask=torch.zeros(NODES, dtype=torch.bool)), "test mask: selects no node"),
    "mask too short": (pyg_with(test_mask=torch.ones(3, dtype=torch.bool)), r"expected shape \(30,\), got \(3,\)"),
    "a measured target": (pyg_with(y=HALVES), "node 0 has 0.5, a continuous value"),
    "several labels": (pyg_with(y=torch.ones(NODES, 3)), r"got shape \(30, 3\); several labels"),
    "no edges": (pyg_with(edge_index=None), "has no edge_index"),
    "edges in columns": (pyg_with(edge_index=torch.from_numpy(EDGES)), r"got \(60, 2\); transpose it"),
    "a node too many": (pyg_with(edge_index=torch.tensor([[0], [30]])), "names node 30"),
    "a node below zero": (pyg_with(edge_index=torch.tensor([[0], [-1]])), "names node -1"),
    "unknown size": (Data(edge_index=torch.tensor([[0], [1]])), r"set data\.num_nodes"),
    "too few rows": (pyg_with(num_nodes=31), r"expected shape \(31, at least 1\).*got \(30, 4\)"),
    "kinds of dgl": (dgl_with(ntypes=["user", "item"]), "user, item"),
    "weights of dgl": (dgl_with(edata={"weight": HALVES}), "edata.'weight'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_used_is_named(case: str) -> None:
    graph, message = WRONG[case]
    beside = {} if case != "too few rows" else {"labels": [None] * 31, "split": [""] * 31}
    with pytest.raises(DataError, match=message):
        raw_graph(graph, **beside)


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        ({"split": {"train": [0], "tset": [1]}}, "unknown split 'tset': did you mean 'test'"),
        ({"split": ["train"] * 29}, "one name per node, 30, got 29"),
        ({"split": ["train"] * 29 + ["valid"]}, "unknown split 'valid'"),
        ({"labels": {31: "a"}}, "labels: '31' is none of the nodes"),
        ({"labels": "club"}, "only the nodes of a networkx graph"),
        ({"features": {0: [1.0]}}, "features: node '1' has none"),
        ({"node_names": ["a"] * 30}, "'a' occurs twice"),
        ({"node_names": ["a"]}, "expected 30, got 1"),
    ],
)
def test_wrong_things_beside_a_graph_are_named(beside: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfGCNError, match=message):
        raw_graph(as_scipy(), **{"features": FEATURES, **beside})


def test_tensors_that_training_left_behind_are_read() -> None:
    given = torch.from_numpy(FEATURES).clone().requires_grad_()
    assert (raw_graph(as_scipy(), given).features == FEATURES).all()
    assert raw_graph(as_scipy(), given.bfloat16()).features.dtype == np.float32
