"""An exported graph can be read again and is the same graph."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Any

import networkx
import numpy as np
import pytest
import torch

from confgcn.data.demo import load_demo
from confgcn.data.formats.objects import graphs
from confgcn.data.formats.objects.networkx import to_networkx
from confgcn.data.formats.objects.pyg import to_pyg
from confgcn.data.formats.registry import raw_graph
from confgcn.exceptions import ResourceError, UsageError
from confgcn.graph import Graph

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    import torch_geometric.data


@pytest.fixture
def graph() -> Graph:
    """a - b - c and d, which is alone and unlabelled."""
    built = Graph.build(
        edges=[(0, 1), (2, 1), (1, 1)],
        features=np.array([[1, 0], [0, 2], [3, 0], [0, 0.5]]),
        labels=[1, 0, 1, -1],
        train=[0, 1],
        test=[2],
        node_names=["a", "b", "c", "d"],
        class_names=["one", "two"],
        name="four",
    )
    return replace(built, feature_names=("f", "g"))


def test_data_of_pyg_holds_everything(graph: Graph) -> None:
    data = to_pyg(graph)
    assert isinstance(data, torch_geometric.data.Data)
    data.validate()
    assert data.x.dtype == torch.float32
    assert data.x.tolist() == [[1, 0], [0, 2], [3, 0], [0, 0.5]]
    assert sorted(data.edge_index.T.tolist()) == [[0, 1], [1, 0], [1, 2], [2, 1]]
    assert data.y.tolist() == [1, 0, 1, -1]
    assert data.train_mask.tolist() == [True, True, False, False]
    assert data.test_mask.tolist() == [False, False, True, False]
    assert "val_mask" not in data
    assert data.node_names == ["a", "b", "c", "d"]


def test_a_graph_of_networkx_holds_everything(graph: Graph) -> None:
    made = to_networkx(graph)
    assert made.name == "four"
    assert list(made.nodes) == ["a", "b", "c", "d"]
    assert {frozenset(edge) for edge in made.edges} == {frozenset("ab"), frozenset("bc")}
    assert dict(made.nodes(data="label")) == {"a": "two", "b": "one", "c": "two", "d": None}
    assert dict(made.nodes(data="split")) == {"a": "train", "b": "train", "c": "test", "d": None}
    assert made.nodes["d"]["x"].tolist() == [0, 0.5]


@pytest.mark.parametrize("export", [to_pyg, to_networkx])
def test_an_exported_graph_comes_back_as_the_same_graph(graph: Graph, export: Any) -> None:
    back = raw_graph(export(graph)).build()
    assert back.fingerprint == raw_graph(graph).build().fingerprint == graph.fingerprint
    if export is to_pyg:
        assert back.feature_names == ("f", "g")


def test_the_built_in_graph_comes_back_from_pyg() -> None:
    demo = load_demo()
    assert raw_graph(to_pyg(demo)).build().fingerprint == raw_graph(demo).build().fingerprint


def test_changing_the_export_leaves_the_graph_alone(graph: Graph) -> None:
    before = graph.features.clone()
    data = to_pyg(graph)
    data.x.zero_()
    data.y.zero_()
    to_networkx(graph).nodes["a"]["x"][:] = 0
    assert torch.equal(graph.features, before)
    assert graph.labels.tolist() == [1, 0, 1, -1]


def test_without_features_networkx_can_write_graphml(graph: Graph) -> None:
    text = "".join(networkx.generate_graphml(to_networkx(graph, features=False)))
    assert "two" in text


def test_features_too_wide_to_be_dense_are_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "MAX_DENSE_BYTES", 31)
    with pytest.raises(ResourceError, match=r"shape \(4, 2\)"):
        to_pyg(graph)


@pytest.mark.parametrize("export", [to_pyg, to_networkx])
def test_edge_weights_are_not_dropped_silently(graph: Graph, export: Any) -> None:
    weighted = replace(graph, edge_weight=torch.ones(graph.adjacency.num_entries))
    with pytest.raises(UsageError, match="four: edge weights cannot be exported"):
        export(weighted)


@pytest.mark.parametrize(
    ("export", "library", "hint"),
    [(to_pyg, "torch_geometric.data", r"confgcn\[pyg\]"), (to_networkx, "networkx", "pip install networkx")],
)
def test_a_missing_library_is_named(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, export: Any, library: str, hint: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ResourceError, match=hint):
        export(graph)
