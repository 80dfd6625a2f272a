"""Samples of a graph that are graphs again: some nodes, what they depend on, and of their neighbours a few."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from confgcn.graph import Graph, Sample, distinct
from confgcn.io.blocks import blocks_of_entries
from confgcn.sparse import SparseStructure, rows_of

Edges = tuple[Tensor, Tensor]  # targets and sources


class NeighbourSampler:
    r"""Draws neighbours in rounds outwards from given nodes (Hamilton, Ying, Leskovec: GraphSAGE, NeurIPS 2017).

    In every one of ``depth`` rounds each node that is new hears itself and min(``fanout``, degree) neighbours, drawn
    uniformly and without replacement; a node that the last round has found hears itself alone. A sum over neighbours
    is estimated by that over the drawn ones, each of which stands for its importance, degree / drawn:

    .. math:: \sum_{u \in N(v)} x_u \approx x_v + \frac{|N(v) \setminus v|}{|S(v)|} \sum_{u \in S(v)} x_u

    Random numbers come from torch's default stream. Work and memory go with the sample, but for two arrays of all nodes
    that are made once.
    """

    def __init__(self, graph: Graph, *, fanout: int, depth: int) -> None:
        self.graph, self.fanout, self.depth = graph, fanout, depth
        self.loops = _places_of_loops(graph.adjacency)
        self.number = torch.full((graph.num_nodes,), -1)  # of a node in the sample being drawn
        self.is_train = torch.zeros(graph.num_nodes, dtype=torch.bool).index_fill_(0, graph.train, True)

    def draw(self, nodes: Tensor) -> Graph:
        """A sample in which these nodes, none of them named twice, are counted."""
        found, (rows, columns) = self._walk_back(nodes)
        adjacency, edge_rows = _compressed(rows, columns, len(found))
        labelled = self.is_train[found].nonzero().squeeze(1)
        nobody = labelled.new_empty(0)
        return replace(
            self.graph,
            adjacency=adjacency,
            features=rows_of(self.graph.features, found),
            labels=self.graph.labels[found],
            node_ids=self.graph.node_ids[found],
            node_names=("",) * len(found),  # nobody reads the names of a sample
            train=labelled[labelled < len(nodes)],
            validation=nobody,
            test=nobody.clone(),
            sample=Sample(
                counted=len(nodes),
                importance=self._importance(found, edge_rows, adjacency.indices),
                labelled=labelled,
                num_nodes=self.graph.num_nodes,
                num_train=len(self.graph.train),
            ),
        )

    def _walk_back(self, nodes: Tensor) -> tuple[Tensor, Edges]:
        """All nodes of the sample, those of a round after those of the one before, and its edges by their number."""
        found, edges, count = [nodes], [], len(nodes)
        self.number[nodes] = torch.arange(count)
        for _ in range(self.depth):
            edges.append(self._drawn_edges(found[-1]))
            sources = edges[-1][1]
            found.append(torch.from_numpy(distinct(sources[self.number[sources] < 0].numpy())))
            self.number[found[-1]] = torch.arange(count, count + len(found[-1]))
            count += len(found[-1])
        edges.append((found[-1], found[-1]))
        targets, sources = (self.number[torch.cat(ends)] for ends in zip(*edges, strict=True))
        everybody = torch.cat(found)
        self.number[everybody] = -1
        return everybody, (targets, sources)

    def _drawn_edges(self, targets: Tensor) -> Edges:
        """Into these nodes: all edges of those with few neighbours, the self loop and drawn ones of the others."""
        adjacency = self.graph.adjacency
        degrees = adjacency.indptr[targets + 1] - adjacency.indptr[targets] - 1
        few, many = targets[degrees <= self.fanout], targets[degrees > self.fanout]
        taken, _ = adjacency.at_rows(few)
        first, loops = adjacency.indptr[many], self.loops[many]
        entries = first + draw_without_replacement(degrees[degrees > self.fanout], self.fanout)  # (fanout, many)
        entries += entries >= loops  # which are no neighbours
        return (
            torch.cat([few[taken.rows], many, many.repeat(self.fanout)]),
            torch.cat([taken.indices, many, adjacency.indices[entries.flatten()]]),
        )

    def _importance(self, found: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        indptr = self.graph.adjacency.indptr
        degrees = indptr[found + 1] - indptr[found] - 1
        ratio = degrees.clamp_(min=self.fanout).to(torch.get_default_dtype()) / self.fanout
        return ratio[rows].masked_fill_(rows == columns, 1.0)


def draw_without_replacement(sizes: Tensor, count: int) -> Tensor:
    """For each size n (m,), not below ``count``, a uniform choice of so many of 0, ..., n - 1: (count, m).

    By Floyd's method (Bentley, Floyd: Programming pearls, CACM 1987), for all sizes at once: the work depends on
    ``count`` and not on the sizes, so that a hub costs no more than others.
    """
    chosen = torch.empty(count, len(sizes), dtype=torch.long)
    for place in range(count if len(sizes) else 0):
        last = sizes - count + place
        drawn = torch.minimum((torch.rand(len(sizes), dtype=torch.double) * (last + 1)).long(), last)
        is_taken = (chosen[:place] == drawn).any(0)
        chosen[place] = torch.where(is_taken, last, drawn)
    return chosen


def _compressed(rows: Tensor, columns: Tensor, size: int) -> tuple[SparseStructure, Tensor]:
    """A square structure with these entries, and the row of each."""
    keys = torch.from_numpy(distinct((rows * size + columns).numpy()))
    ordered = keys // size
    counts = torch.bincount(ordered, minlength=size)
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return SparseStructure(indptr, keys % size, (size, size)), ordered


def _places_of_loops(adjacency: SparseStructure) -> Tensor:
    """Where the self loop of each node stands among all entries, (N,)."""
    found = []
    for rows in blocks_of_entries(adjacency.indptr.numpy()):
        indptr = adjacency.indptr[rows.start : rows.stop + 1]
        targets = torch.repeat_interleave(torch.arange(rows.start, rows.stop), indptr.diff())
        first, last = int(indptr[0]), int(indptr[-1])
        found.append(first + (targets == adjacency.indices[first:last]).nonzero().squeeze(1))
    return torch.cat(found)
