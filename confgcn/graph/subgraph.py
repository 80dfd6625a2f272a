"""A part of a graph that is a graph again; its nodes keep their global ids, and with them their parameters."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.sparse import SparseStructure, rows_of


def nodes_within(graph: Graph, nodes: Tensor, distance: int) -> Tensor:
    """The nodes that are at most so many edges away from one of these, sorted."""
    found: Tensor = nodes.unique()
    for _ in range(distance):
        further = graph.adjacency.at_rows(found)[0].indices.unique()  # every node is its own neighbour
        if len(further) == len(found):
            break
        found = further
    return found


def induced_subgraph(graph: Graph, nodes: Tensor) -> Graph:
    """The graph of these nodes, sorted and none named twice, and the edges between them."""
    number = torch.full((graph.num_nodes,), -1)
    number[nodes] = torch.arange(len(nodes))
    rows, _ = graph.adjacency.at_rows(nodes)
    sources = number[rows.indices]
    inside = sources >= 0
    counts = torch.bincount(rows.rows[inside], minlength=len(nodes))
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    parts = {part: number[getattr(graph, part)] for part in ("train", "validation", "test")}
    return replace(
        graph,
        adjacency=SparseStructure(indptr, sources[inside], (len(nodes), len(nodes))),
        features=rows_of(graph.features, nodes),
        labels=graph.labels[nodes],
        node_ids=graph.node_ids[nodes],
        node_names=tuple(graph.node_names[node] for node in nodes.tolist()),
        train=parts["train"][parts["train"] >= 0],
        validation=parts["validation"][parts["validation"] >= 0],
        test=parts["test"][parts["test"] >= 0],
    )
