"""Neighbour sampling: batches of nodes, with some of the nodes they receive messages from, as smaller graphs."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from confgcn.graph import Graph, Sample, distinct
from confgcn.io.blocks import blocks_of_entries
from confgcn.sparse import SparseStructure, rows_of

Edges = tuple[Tensor, Tensor, Tensor]  # targets, sources and entries of the adjacency


class NeighbourSampler:
    r"""Samples neighbours in rounds, starting from a batch (Hamilton, Ying, Leskovec: GraphSAGE, NeurIPS 2017).

    In each of ``depth`` rounds every new node receives messages from itself and min(``fanout``, degree) neighbours,
    drawn uniformly without replacement. Nodes added in the last round have their self loop only. A sum over neighbours
    is estimated by the sum over the sampled ones, scaled by degree / sampled:

    .. math:: \sum_{u \in N(v)} x_u \approx x_v + \frac{|N(v) \setminus v|}{|S(v)|} \sum_{u \in S(v)} x_u

    Random numbers come from torch's default generator. Time and memory grow with the sample, except for three arrays
    over all nodes that are made once.
    """

    def __init__(self, graph: Graph, *, fanout: int, depth: int) -> None:
        self.graph, self.fanout, self.depth = graph, fanout, depth
        self.loops = _self_loop_entries(graph.adjacency)
        self.number = torch.full((graph.num_nodes,), -1)  # row of a node in the current sample
        self.is_train = torch.zeros(graph.num_nodes, dtype=torch.bool).index_fill_(0, graph.train, True)

    def draw(self, nodes: Tensor) -> Graph:
        """The sample of a batch of distinct nodes."""
        sampled, (rows, columns, entries) = self._expand(nodes)
        keys = rows * len(sampled) + columns
        adjacency = _compressed(keys, len(sampled))
        labelled = self.is_train[sampled].nonzero().squeeze(1)
        no_nodes = labelled.new_empty(0)
        return replace(
            self.graph,
            adjacency=adjacency,
            features=rows_of(self.graph.features, sampled),
            labels=self.graph.labels[sampled],
            node_ids=self.graph.node_ids[sampled],
            node_names=("",) * len(sampled),  # no caller reads the names of a sample
            train=labelled[labelled < len(nodes)],
            validation=no_nodes,
            test=no_nodes.clone(),
            sample=Sample(
                batch_size=len(nodes),
                labelled=labelled,
                num_nodes=self.graph.num_nodes,
                num_train=len(self.graph.train),
            ),
            edge_weight=self._edge_weight(sampled, adjacency, keys, entries),
        )

    def _expand(self, nodes: Tensor) -> tuple[Tensor, Edges]:
        """All nodes of the sample, in the order of the rounds, and its edges as rows of the sample."""
        rounds, edges, count = [nodes], [], len(nodes)
        self.number[nodes] = torch.arange(count)
        for _ in range(self.depth):
            edges.append(self._drawn_edges(rounds[-1]))
            sources = edges[-1][1]
            rounds.append(torch.from_numpy(distinct(sources[self.number[sources] < 0].numpy())))
            self.number[rounds[-1]] = torch.arange(count, count + len(rounds[-1]))
            count += len(rounds[-1])
        edges.append((rounds[-1], rounds[-1], self.loops[rounds[-1]]))
        targets, sources, entries = map(torch.cat, zip(*edges, strict=True))
        targets, sources = self.number[targets], self.number[sources]
        all_nodes = torch.cat(rounds)
        self.number[all_nodes] = -1
        return all_nodes, (targets, sources, entries)

    def _drawn_edges(self, targets: Tensor) -> Edges:
        """Edges into these nodes: all where there are at most ``fanout`` neighbours, else the self loop and a draw."""
        adjacency = self.graph.adjacency
        degrees = adjacency.indptr[targets + 1] - adjacency.indptr[targets] - 1
        few, many = targets[degrees <= self.fanout], targets[degrees > self.fanout]
        complete, all_entries = adjacency.at_rows(few)
        first, loops = adjacency.indptr[many], self.loops[many]
        drawn = first + draw_without_replacement(degrees[degrees > self.fanout], self.fanout)  # (fanout, many)
        drawn += drawn >= loops  # skip the self loop
        return (
            torch.cat([few[complete.rows], many, many.repeat(self.fanout)]),
            torch.cat([complete.indices, many, adjacency.indices[drawn.flatten()]]),
            torch.cat([all_entries, loops, drawn.flatten()]),
        )

    def _edge_weight(self, nodes: Tensor, adjacency: SparseStructure, keys: Tensor, entries: Tensor) -> Tensor:
        """The weight of each sampled edge times the number of edges into its target that it represents, (E,)."""
        indptr = self.graph.adjacency.indptr
        degrees = indptr[nodes + 1] - indptr[nodes] - 1
        ratio = degrees.clamp_(min=self.fanout).to(torch.get_default_dtype()) / self.fanout
        represented = ratio[adjacency.rows].masked_fill_(adjacency.rows == adjacency.indices, 1.0)
        weight = self.graph.edge_weight
        return represented if weight is None else represented * weight[entries[keys.argsort()]]


def draw_without_replacement(sizes: Tensor, count: int) -> Tensor:
    """``count`` distinct numbers from 0, ..., n - 1 for each size n >= ``count``: (m,) -> (count, m).

    Floyd's method (Bentley, Floyd: Programming pearls, CACM 1987), for all sizes at once. Its time depends on
    ``count`` and not on the sizes, so a hub costs no more than another node.
    """
    chosen = torch.empty(count, len(sizes), dtype=torch.long)
    for place in range(count if len(sizes) else 0):
        last = sizes - count + place
        drawn = torch.minimum((torch.rand(len(sizes), dtype=torch.double) * (last + 1)).long(), last)
        is_taken = (chosen[:place] == drawn).any(0)
        chosen[place] = torch.where(is_taken, last, drawn)
    return chosen


def _compressed(keys: Tensor, size: int) -> SparseStructure:
    """The square structure with these entries, given as row * ``size`` + column."""
    ordered = torch.from_numpy(distinct(keys.numpy()))
    counts = torch.bincount(ordered // size, minlength=size)
    indptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return SparseStructure(indptr, ordered % size, (size, size))


def _self_loop_entries(adjacency: SparseStructure) -> Tensor:
    """The entry of each node's self loop, (N,)."""
    loops = []
    for rows in blocks_of_entries(adjacency.indptr.numpy()):
        indptr = adjacency.indptr[rows.start : rows.stop + 1]
        targets = torch.repeat_interleave(torch.arange(rows.start, rows.stop), indptr.diff())
        first, last = int(indptr[0]), int(indptr[-1])
        loops.append(first + (targets == adjacency.indices[first:last]).nonzero().squeeze(1))
    return torch.cat(loops)
