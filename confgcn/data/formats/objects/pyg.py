"""PyTorch Geometric: ``Data`` objects as graphs, and graphs as ``Data`` objects."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from confgcn.data.formats.format import ObjectFormat
from confgcn.data.formats.objects.graphs import check_unweighted, dense_features, import_library
from confgcn.data.formats.objects.matrices import from_edge_index
from confgcn.data.formats.objects.node_data import NodeData, comes_from
from confgcn.data.labels import label_texts, named_labels
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError
from confgcn.graph import Graph


def from_pyg(data: Any, nodes: NodeData, name: str) -> RawGraph:
    """Read x, y, edge_index, the three masks and, if present, node_names, class_names and feature_names."""
    _check_kind(data)
    num_nodes = _num_nodes(data)
    own = nodes.with_defaults(
        features=data.x,
        labels=_labels(data, num_nodes) if nodes.labels is None else None,
        names=getattr(data, "node_names", None),
        split=_masks(data),
        class_names=getattr(data, "class_names", None),
        feature_names=getattr(data, "feature_names", None),
    )
    return from_edge_index(data.edge_index, own, name, num_nodes)


def to_pyg(graph: Graph) -> Any:
    """``torch_geometric.data.Data``: dense x, both directions of every edge without self loops, y with -1 for unknown.

    A split without nodes has no mask. The names of nodes, classes and features are included, so that
    :func:`~confgcn.data.formats.registry.raw_graph` gives the same graph again.
    """
    check_unweighted(graph)
    data = import_library("torch_geometric.data", "'confgcn[pyg]'").Data(
        x=torch.from_numpy(dense_features(graph)),
        edge_index=torch.stack([graph.neighbours.indices, graph.neighbours.rows]),
        y=graph.labels.clone(),
        node_names=list(graph.node_names),
        class_names=list(graph.class_names),
    )
    for split, mask in (("train", "train_mask"), ("validation", "val_mask"), ("test", "test_mask")):
        positions = getattr(graph, split)
        if len(positions):
            data[mask] = torch.zeros(graph.num_nodes, dtype=torch.bool).index_fill_(0, positions, True)
    if graph.feature_names:
        data.feature_names = list(graph.feature_names)
    return data


def _check_kind(data: Any) -> None:
    kinds = {kind.__name__ for kind in type(data).__mro__}
    if "Data" not in kinds:
        raise DataError(
            f"a {type(data).__name__} of PyG was given; only Data, a graph of one kind of node and edge, is supported "
            "(HeteroData.to_homogeneous() makes one)"
        )
    if getattr(data, "edge_index", None) is None:
        raise DataError("the PyG graph has no edge_index")
    for kind in ("edge_weight", "edge_attr", "edge_type"):
        if getattr(data, kind, None) is not None:
            raise DataError(
                f"the PyG graph has {kind}; weights and types of edges are not supported: set data.{kind} = None"
            )


def _num_nodes(data: Any) -> int:
    if "num_nodes" in data:
        return int(data.num_nodes)
    for values in (data.x, data.y):
        if values is not None:
            return int(values.shape[0])
    raise DataError("the PyG graph has no number of nodes; set data.num_nodes")


def _labels(data: Any, num_nodes: int) -> list[str | None] | None:
    if data.y is None:
        return None
    texts = label_texts(data.y, num_nodes)
    class_names = getattr(data, "class_names", None)
    return texts if class_names is None else named_labels(texts, class_names)


def _masks(data: Any) -> dict[str, Any] | None:
    masks = {split: getattr(data, f"{split}_mask", None) for split in ("train", "val", "test")}
    return masks if any(mask is not None for mask in masks.values()) else None


FORMAT = ObjectFormat("pyg", "PyG Data", partial(comes_from, "torch_geometric.data"), from_pyg, to_pyg)
