"""Graphs of this package as input, and what the conversions to other libraries share."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.format import ObjectFormat
from confgcn.data.formats.objects.node_data import NodeData
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import ResourceError, UsageError
from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

UNNAMED = "graph"  # the default name
MAX_DENSE_BYTES = 2**31  # of features, which other libraries want dense


def from_raw(graph: RawGraph, nodes: NodeData, name: str) -> RawGraph:
    """The same graph, with the node data that was given beside it."""
    if name != UNNAMED:
        graph = replace(graph, name=name)
    if all(value is None for value in (nodes.features, nodes.labels, nodes.names, nodes.split)):
        return graph
    carried = {key: getattr(graph, key) for key in ("features", "labels", "split", "class_names", "feature_names")}
    filled = nodes.with_defaults(names=graph.ids, **carried)
    raw = filled.raw(graph.name, graph.edges, len(graph.ids))
    return replace(raw, notices=graph.notices, edge_weight=graph.edge_weight)


def from_graph(graph: Graph, nodes: NodeData, name: str) -> RawGraph:
    """The graph in the form in which it was given."""
    return from_raw(raw_from_graph(graph), nodes, name)


def check_unweighted(graph: Graph) -> None:
    """Refuse to lose the weights of edges."""
    if graph.edge_weight is not None:
        raise UsageError(f"{graph.name}: edge weights cannot be exported; remove them with edge_weight=None")


def dense_features(graph: Graph) -> npt.NDArray[np.float32]:
    """A copy of the features, (N, F)."""
    size = 4 * graph.num_nodes * graph.num_features
    if size > MAX_DENSE_BYTES:
        raise ResourceError(
            f"{graph.name}: features of shape {tuple(graph.features.shape)} would take {size / 2**30:.1f} GiB dense, "
            f"more than {MAX_DENSE_BYTES / 2**30:.0f}; leave out columns first"
        )
    features = graph.features
    dense = features.to_scipy().toarray() if isinstance(features, SparseMatrix) else features.numpy().copy()
    return np.asarray(dense, dtype=np.float32)


def import_library(module: str, package: str) -> Any:
    """Import another library; if it is not installed, the error names the package to install."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise ResourceError(f"this needs {library}: pip install {package} ({error})") from None


RAW_GRAPH = ObjectFormat("raw_graph", "a RawGraph", lambda graph: isinstance(graph, RawGraph), from_raw)
GRAPH = ObjectFormat("graph", "a Graph", lambda graph: isinstance(graph, Graph), from_graph)
