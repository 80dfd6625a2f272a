"""Graphs from objects of other libraries. None is imported: an object is known by its type or its attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from confgcn.data.formats.from_arrays import from_matrix
from confgcn.data.formats.from_dgl import from_dgl
from confgcn.data.formats.from_frames import from_frames
from confgcn.data.formats.from_graph import from_graph, from_raw
from confgcn.data.formats.from_networkx import from_networkx
from confgcn.data.formats.from_pyg import from_pyg
from confgcn.data.node_data import NodeData, comes_from, is_frame
from confgcn.data.raw import RawGraph
from confgcn.exceptions import UsageError
from confgcn.graph import Graph

ACCEPTED = (
    "a Graph or RawGraph, Data of PyG, a networkx graph, a graph of DGL, a square adjacency (scipy, numpy, torch), an "
    "edge index (2, edges) with features, or a frame of edges of pandas, alone or as a pair (edges, nodes)"
)


def raw_graph(
    graph: Any,
    features: Any = None,
    labels: Any = None,
    *,
    name: str = "graph",
    node_names: Sequence[Any] | None = None,
    split: Any = None,
    trained: Graph | None = None,
) -> RawGraph:
    """Any object that holds a graph, as one that can be checked and built.

    What is given beside the object takes the place of what it carries itself.

    Args:
        graph: a :class:`~confgcn.graph.Graph` or :class:`~confgcn.data.raw.RawGraph`; ``torch_geometric.data.Data``;
            a networkx graph; a graph of DGL; a square adjacency of zeros and ones (scipy sparse, numpy, torch), whole
            numbers of shape (2, edges) as an edge index; a frame of edges of pandas, or a pair of frames
            ``(edges, nodes)`` with the columns that files have.
        features: (N, F), rows in the order of the nodes; or by node: a mapping or a frame with the nodes as its index;
            for networkx also the name of a node attribute.
        labels: one per node in their order, or by node; -1, NaN, None and "" are unknown.
        name: of the graph, for messages and results.
        node_names: one per node, distinct as texts; by default their positions.
        split: ``{"train": ..., "validation": ..., "test": ...}`` with masks or positions, or for each node its part.
        trained: the graph of a training that new nodes are to be joined to: edges of frames may name its nodes, and
            categories are encoded as there.
    """
    nodes = NodeData(features=features, labels=labels, names=node_names, split=split, trained=trained)
    for recognises, convert in CONVERTERS:
        if recognises(graph):
            return convert(graph, nodes, name)
    raise UsageError(f"no graph can be made of a {type(graph).__module__}.{type(graph).__qualname__}: pass {ACCEPTED}")


def _is_matrix(graph: Any) -> bool:
    return isinstance(graph, np.ndarray | torch.Tensor) or sp.issparse(graph)


def _is_dgl(graph: Any) -> bool:
    return (
        callable(getattr(graph, "edges", None))
        and callable(getattr(graph, "num_nodes", None))
        and hasattr(graph, "ndata")
    )


def _is_frames(graph: Any) -> bool:
    return is_frame(graph) or (isinstance(graph, tuple) and len(graph) == 2 and all(map(is_frame, graph)))


CONVERTERS: list[tuple[Callable[[Any], bool], Callable[[Any, NodeData, str], RawGraph]]] = [
    (lambda graph: isinstance(graph, RawGraph), from_raw),
    (lambda graph: isinstance(graph, Graph), from_graph),
    (partial(comes_from, "torch_geometric.data"), from_pyg),
    (partial(comes_from, "networkx"), from_networkx),
    (_is_matrix, from_matrix),
    (_is_frames, from_frames),
    (_is_dgl, from_dgl),
]
