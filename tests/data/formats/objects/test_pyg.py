"""PyG graphs of four nodes: what is read from them and what is refused."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.data.formats.objects.node_data import NodeData
from confgcn.data.formats.objects.pyg import from_pyg, to_pyg
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    from torch_geometric.data import Data

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])


def path_of_four(**values: Any) -> Data:
    return Data(edge_index=EDGES, **{"x": torch.eye(4), "y": torch.tensor([0, 1, 0, -1]), **values})


def test_labels_are_named_by_the_names_of_classes() -> None:
    raw = from_pyg(path_of_four(class_names=["zoo", "art"], y=torch.tensor([[0], [1], [0], [-1]])), NodeData(), "g")
    assert raw.labels == ["zoo", "art", "zoo", None]
    assert raw.build().class_names == ("zoo", "art")
    with pytest.raises(DataError, match="class 1 has no name; there are 1"):
        from_pyg(path_of_four(class_names=["zoo"]), NodeData(), "g")


def test_sparse_features_stay_sparse() -> None:
    raw = from_pyg(path_of_four(x=torch.eye(4).to_sparse()), NodeData(), "g")
    assert sp.issparse(raw.features)
    assert (raw.features.toarray() == np.eye(4)).all()


def test_a_graph_without_features_is_refused_only_when_it_is_built() -> None:
    raw = from_pyg(Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3), NodeData(), "g")
    assert raw.features is None
    assert raw.ids == ("0", "1", "2")
    with pytest.raises(DataError, match="there are no features"):
        raw.build()


def test_edge_weights_are_not_dropped_silently() -> None:
    with pytest.raises(DataError, match=r"edge_weight; .*set data\.edge_weight = None"):
        from_pyg(path_of_four(edge_weight=torch.ones(3)), NodeData(), "g")
    weighted = Graph.build(EDGES.T.numpy(), np.eye(4), [0, 1, 0, -1], edge_weight=[1.0, 2.0, 3.0])
    with pytest.raises(UsageError, match="edge weights cannot be exported"):
        to_pyg(weighted)


def test_an_exported_graph_has_both_directions_and_a_mask_for_each_split_with_nodes() -> None:
    data = to_pyg(Graph.build(EDGES.T.numpy(), np.eye(4), [0, 1, 0, -1], train=[0, 1]))
    assert data.edge_index.tolist() == [[1, 0, 2, 1, 3, 2], [0, 1, 1, 2, 2, 3]]
    assert data.train_mask.tolist() == [True, True, False, False]
    assert "test_mask" not in data
