"""What the models of this package share: the abstract class, and the nodes and edges that a prediction covers.

On a shard of a graph a prediction covers all nodes of the shard, on a sample of a graph the nodes of the batch.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Self

from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.receptive_field import ReceptiveField
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.models.confgcn.label_distribution import LabelDistribution


class AbstractConfGCN(AbstractMethod):
    """A model with a label distribution for every node.

    Attributes:
        label_distribution: the parameters of the nodes.
        influence: how the influence of a neighbour is computed; every model has the choice ``uniform``.
    """

    per_node = ("label_distribution.raw_mu", "label_distribution.raw_precision")
    supports_shards = True
    supports_samples = True
    label_distribution: LabelDistribution
    influence: str

    def with_uniform_influence(self) -> Self:
        control = copy(self)  # shares the parameters
        control.influence = "uniform"
        return control


def requested_field(graph: Graph, nodes: Tensor | None, *, depth: int) -> tuple[Tensor | None, ReceptiveField]:
    """The nodes that are predicted (None: all) if these are requested, and what ``depth`` layers read for them."""
    nodes = None if graph.shard is not None else nodes
    return nodes, graph.receptive_field(graph.batch_nodes if nodes is None else nodes, depth=depth)


def of_batch(graph: Graph, prediction: Prediction) -> Prediction:
    """The rows of the batch nodes of a sample, and the edges into them, which come first; on other graphs all."""
    if graph.sample is None:
        return prediction
    nodes, edges = graph.sample.batch_size, _edges_into_batch(graph)
    lengths = dict.fromkeys(("logits", "mu", "precision", "evidence"), nodes)
    lengths |= dict.fromkeys(("distance", "influence"), edges)
    values = {name: getattr(prediction, name) for name in lengths}
    return replace(prediction, **{name: value[: lengths[name]] for name, value in values.items() if value is not None})


def edge_weight_in_loss(graph: Graph) -> Tensor | None:
    """The weights of the edges that :func:`of_batch` keeps, (E,); None if all are one."""
    weight = graph.edge_weight
    return None if weight is None else weight[: _edges_into_batch(graph)]


def _edges_into_batch(graph: Graph) -> int:
    return graph.adjacency.num_entries if graph.sample is None else int(graph.adjacency.indptr[graph.sample.batch_size])
