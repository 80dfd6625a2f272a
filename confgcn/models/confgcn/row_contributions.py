"""What each node contributes to a prediction that is computed from propagation rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.models.base import Contributions
from confgcn.models.confgcn.label_channel import (
    far_label_channel_of_row,
    far_label_row,
    label_channel_of_rows,
    label_rows,
)
from confgcn.models.confgcn.propagation import Propagation

if TYPE_CHECKING:
    from confgcn.models.confgcn.propagated import PropagatedConfGCN


@dataclass(frozen=True, eq=False)
class Member:
    """A model, its share of the prediction, and the temperature and offsets of its logits."""

    model: PropagatedConfGCN
    share: float = 1.0
    inverse_temperature: float = 1.0
    offsets: Tensor | float = 0.0

    def probabilities(self, logits: Tensor) -> Tensor:
        """Of these logits of the model, (n, C)."""
        return (self.inverse_temperature * logits + self.offsets).softmax(-1)


def row_contributions(
    members: Sequence[Member], propagation: Propagation, graph: Graph, node: int, *, limit: int
) -> Contributions:
    r"""Leave each node out of the rows of ``node``, and divide what is left of a row by its sum.

    .. math:: x_v^{\setminus u} = \frac{\sum_{w \ne u} \Pi_{vw} x_w}{\sum_{w \ne u} \Pi_{vw}}

    The labels of a labelled node are left out of the label channel in the same way; the degree stays. The weight of a
    node is the mean of its shares in the rows of all channels of a model, averaged over the models by their shares.
    All variants are predicted at once.
    """
    nodes, weights = _weights(members, graph, node)
    order = torch.argsort(weights, descending=True, stable=True)[:limit]
    left_out = torch.cat([torch.tensor([-1]), nodes[order], torch.tensor([-1])])  # none, each, all others: the last
    probabilities = sum(
        member.share * member.probabilities(_logits_without(member.model, graph, node, left_out).double())
        for member in members
    )
    assert isinstance(probabilities, Tensor)
    values = probabilities.clamp(min=torch.finfo(torch.float32).tiny).log()
    return Contributions(
        nodes[order],
        weights[order],
        _influence(propagation, graph, node, nodes[order]),
        log_probabilities=values[0],
        without=values[1:-1],
        without_all=values[-1],
        not_tried=len(nodes) - len(order),
    )


def _rows(model: PropagatedConfGCN, graph: Graph, node: int) -> list[PropagationRows]:
    """The rows of a node, one table of one row for each channel that has other nodes in it."""
    tables = [table.of(torch.tensor([node])) for table in model.inputs(graph).tables if table is not None]
    return [*tables, *_label_rows(model, graph, node)]


def _label_rows(model: PropagatedConfGCN, graph: Graph, node: int) -> list[PropagationRows]:
    """The labelled nodes around a node: two tables for the near channel, one for the far channel, as the model has."""
    if model.channels == "labels":
        return [*label_rows(graph, node), far_label_row(graph, node)]
    return list(label_rows(graph, node)) if model.label_channel else []


def _weights(members: Sequence[Member], graph: Graph, node: int) -> tuple[Tensor, Tensor]:
    """The other nodes in the rows of a node, in ascending order, and their weights, (n,) each."""
    nodes, weights = [torch.empty(0, dtype=torch.long)], [torch.empty(0, dtype=torch.double)]
    for member in members:
        rows = _rows(member.model, graph, node)
        for row in rows:
            nodes.append(row.indices[0].long())
            weights.append(member.share / len(rows) * row.normalised().weights[0].double())
    every, all_weights = torch.cat(nodes), torch.cat(weights)
    is_other = (every != node) & (all_weights > 0)
    found, places = every[is_other].unique(return_inverse=True)
    return found, all_weights.new_zeros(len(found)).index_add_(0, places, all_weights[is_other])


def _logits_without(model: PropagatedConfGCN, graph: Graph, node: int, left_out: Tensor) -> Tensor:
    """The logits of a node, in each variant without one node and in the last without all others, (variants, C)."""

    def variants(rows: PropagationRows) -> PropagationRows:
        is_kept = rows.indices != left_out[:, None]
        is_kept[-1] = rows.indices[-1] == node
        return PropagationRows(rows.indices, rows.weights * is_kept)

    copies = torch.full((len(left_out),), node)
    channels = model.inputs(graph).channels(copies, lambda rows: variants(rows).normalised())
    label_tables = [variants(rows.of(torch.zeros_like(copies))) for rows in _label_rows(model, graph, node)]
    if label_tables:
        first, second, *far = label_tables
        found = [label_channel_of_rows(graph, node, (first, second))]
        found += [far_label_channel_of_row(graph, table) for table in far]
        channels[-len(found) :] = found
    logits: Tensor = model.network(channels)
    return logits


def _influence(propagation: Propagation, graph: Graph, node: int, nodes: Tensor) -> Tensor:
    """r_uv of these nodes, (n,); zero where there is no edge."""
    start, end = int(graph.adjacency.indptr[node]), int(graph.adjacency.indptr[node + 1])
    sources = graph.adjacency.indices[start:end]
    is_source = nodes[:, None] == sources
    return (is_source * propagation.influence[start:end]).sum(1)
