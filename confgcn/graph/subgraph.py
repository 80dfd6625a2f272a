"""Subgraphs, whose nodes keep their ids and with them their per-node parameters."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.graph import SPLITS
from confgcn.sparse import SparseStructure, rows_of


def nodes_within(graph: Graph, nodes: Tensor, distance: int) -> Tensor:
    """The nodes at most ``distance`` edges away from one of these, sorted."""
    reached: Tensor = nodes.unique()
    for _ in range(distance):
        further = graph.adjacency.at_rows(reached)[0].indices.unique()  # every node is its own neighbour
        if len(further) == len(reached):
            break
        reached = further
    return reached


def induced_subgraph(graph: Graph, nodes: Tensor) -> Graph:
    """The graph of these nodes, sorted and distinct, and the edges between them."""
    number = torch.full((graph.num_nodes,), -1)
    number[nodes] = torch.arange(len(nodes))
    structure, entries = graph.adjacency.at_rows(nodes)
    sources = number[structure.indices]
    inside = sources >= 0
    counts = torch.bincount(structure.rows[inside], minlength=len(nodes))
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    train, validation, test = (number[getattr(graph, split)] for split in SPLITS)
    return replace(
        graph,
        adjacency=SparseStructure(indptr, sources[inside], (len(nodes), len(nodes))),
        features=rows_of(graph.features, nodes),
        labels=graph.labels[nodes],
        node_ids=graph.node_ids[nodes],
        node_names=tuple(graph.node_names[node] for node in nodes.tolist()),
        train=train[train >= 0],
        validation=validation[validation >= 0],
        test=test[test >= 0],
        edge_weight=None if graph.edge_weight is None else graph.edge_weight[entries[inside]],
    )
