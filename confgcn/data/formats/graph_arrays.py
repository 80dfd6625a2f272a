"""A graph as arrays that are asked for in blocks, checked and in their last order: what a mapped graph is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.data.raw import PARTS
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.graph.validation import IntArray
from confgcn.sparse import SparseMatrix


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """All that a graph is, features and edges by functions that give some of them.

    Attributes:
        num_listed: how many edges there are, repetitions and all.
        edges: (rows, 2) positions of nodes, block after block; called more than once.
        feature_rows: (rows, F) numbers of these rows.
        labels: (N,), -1 for unknown.
        parts: positions of nodes, sorted, for each of ``PARTS``.
        node_names: None where nodes are known by their number.
    """

    name: str
    num_nodes: int
    num_features: int
    num_listed: int
    edges: Callable[[], Iterator[IntArray]]
    feature_rows: Callable[[slice | IntArray], npt.NDArray[Any]]
    labels: IntArray
    parts: Mapping[str, IntArray]
    class_names: Sequence[str]
    node_names: Sequence[str] | None = None
    feature_names: Sequence[str] = ()
    remarks: Sequence[str] = ()

    def reordered(self, order: IntArray, names: Sequence[str]) -> GraphArrays:
        """The same graph, its nodes, which have these names, in another order."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return replace(
            self,
            edges=lambda: (place[pairs] for pairs in self.edges()),
            feature_rows=lambda rows: self.feature_rows(order[rows]),
            labels=self.labels[order],
            parts={part: np.sort(place[positions]) for part, positions in self.parts.items()},
            node_names=[names[position] for position in order],
        )


def arrays_of_graph(graph: Graph) -> GraphArrays:
    """Those of a graph in memory, every edge once; sparse features are made dense, a block at a time."""
    if graph.edge_weight is not None:
        raise UsageError(f"{graph.name}: a graph with edge weights cannot be written as a store; write an .npz archive")
    features: Any = graph.features
    is_sparse = isinstance(features, SparseMatrix)
    matrix = features.to_scipy() if is_sparse else features.numpy()
    return GraphArrays(
        graph.name,
        graph.num_nodes,
        graph.num_features,
        graph.edge_counts.unique,
        lambda: (np.stack(ends, axis=1) for ends in graph.edge_blocks()),
        lambda rows: matrix[rows].toarray() if is_sparse else matrix[rows],
        graph.labels.numpy(),
        {part: getattr(graph, part).numpy() for part in PARTS},
        graph.class_names,
        graph.node_names,
        graph.feature_names,
        graph.reader_notices,
    )
