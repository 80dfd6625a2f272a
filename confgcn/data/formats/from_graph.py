"""Graphs of our own, given back as they came or with something else beside their edges."""

from __future__ import annotations

from dataclasses import replace

from confgcn.data.formats.format import ObjectFormat
from confgcn.data.node_data import NodeData
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.graph import Graph

UNNAMED = "graph"  # what a graph is called that nobody gave a name


def from_raw(graph: RawGraph, nodes: NodeData, name: str) -> RawGraph:
    """The same graph where nothing is given beside it."""
    if name != UNNAMED:
        graph = replace(graph, name=name)
    if all(value is None for value in (nodes.features, nodes.labels, nodes.names, nodes.split)):
        return graph
    carried = {key: getattr(graph, key) for key in ("features", "labels", "split", "class_names", "feature_names")}
    filled = nodes.with_own(names=graph.ids, **carried)
    raw = filled.raw(graph.name, graph.edges, len(graph.ids))
    return replace(raw, remarks=graph.remarks, edge_weight=graph.edge_weight)


def from_graph(graph: Graph, nodes: NodeData, name: str) -> RawGraph:
    """A checked graph as it was before it was checked."""
    return from_raw(raw_from_graph(graph), nodes, name)


RAW_GRAPH = ObjectFormat("raw_graph", "a RawGraph", lambda graph: isinstance(graph, RawGraph), from_raw)
GRAPH = ObjectFormat("graph", "a Graph", lambda graph: isinstance(graph, Graph), from_graph)
