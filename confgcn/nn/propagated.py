"""A model of the default preset with the interface of PyG's modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.exceptions import DataError, UsageError
from confgcn.graph import EdgeCounts, Graph
from confgcn.models.base import Prediction, Shape
from confgcn.models.confgcn import propagated
from confgcn.models.confgcn.propagation import walk_coefficients
from confgcn.models.ranges import Depth, Width
from confgcn.nn.edge_index import EdgeIndexAdjacency, MaskableWalk
from confgcn.nn.inputs import NumClasses, check_features, check_ranges, training_labels, training_nodes

Edges = tuple[Tensor, Tensor | None, tuple[int, int, int]]  # edge_index, edge_weight; their versions, number of nodes


class ConfGCN(nn.Module):
    r"""An adapter of :class:`confgcn.models.confgcn.propagated.PropagatedConfGCN`, which is its ``model``.

    In training all nodes are predicted in one random view of their rows, otherwise with whole rows. Rows come from
    ``edge_index`` with uniform influence, and are kept as long as the same tensors are passed. They have no gradient
    in edges: while an explainer of PyG masks edges, the sum of powers is computed exactly, by messages.

    The module has no parameters of single nodes, so it predicts any graph. ``edge_index`` holds both directions of
    every edge; copies count once (with weights: their mean), and each node has one self loop. It computes on the CPU.

    Args:
        in_channels, hidden_channels, out_channels, num_layers: features, width and number of the layers, classes.
        options: of the model, such as ``order`` and ``dropout``; ``label_channel`` and learned influence need labels
            and are refused.

    Shapes: x (N, in), edge_index (2, E), edge_weight (E,) -> logits (N, classes).
    """

    def __init__(
        self,
        in_channels: Width,
        hidden_channels: Width,
        out_channels: NumClasses,
        num_layers: Depth = 2,
        **options: Any,
    ) -> None:
        sizes = {"in_channels": in_channels, "hidden_channels": hidden_channels, "out_channels": out_channels}
        check_ranges(ConfGCN.__init__, {**sizes, "num_layers": num_layers})
        check_ranges(propagated.PropagatedConfGCN.__init__, options)
        needs_labels = options.get("label_channel") or options.get("channels") == "labels"
        if needs_labels or options.get("influence") == "learned":
            message = "label_channel, channels='labels' and influence='learned' need labels"
            raise UsageError(f"{message}, which forward(x, edge_index) has not")
        super().__init__()
        self.in_channels, self.num_classes = in_channels, out_channels
        self.options = {"hidden_dim": hidden_channels, "num_layers": num_layers, **options}
        self.model = self._new_model()
        self.walk = MaskableWalk()
        self._known: tuple[Edges, EdgeIndexAdjacency, Tensor | None] | None = None

    def _new_model(self) -> propagated.PropagatedConfGCN:
        return propagated.PropagatedConfGCN(Shape(1, self.in_channels, self.num_classes), **self.options)

    def reset_parameters(self) -> None:
        """Draw new initial weights."""
        self.model.load_state_dict(self._new_model().state_dict())

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        graph = self._graph(x, edge_index, edge_weight)
        if self.walk.explain:
            return self._network(self._exact_channels(graph))
        return self._random_view(graph) if self.training else self.model(graph, torch.arange(len(x))).logits

    def views(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, *, number: int = propagated.VIEWS
    ) -> Tensor:
        """The logits of all nodes in several random views, for :meth:`loss`, (number, N, classes)."""
        graph = self._graph(x, edge_index, edge_weight)
        return torch.stack([self._random_view(graph) for _ in range(number)])

    def loss(self, logits: Tensor, y: Tensor, train_mask: Tensor) -> dict[str, Tensor]:
        """The terms of the objective, each with its weight: minimise ``sum(terms.values())``.

        Shapes: ``logits`` (N, classes) of one view, or (M, N, classes) of :meth:`views`, whose consensus is the target
        of L_const; ``y`` (N,), of which only the labels of ``train_mask`` (N,) are read.
        """
        views = logits if logits.dim() == 3 else logits[None]
        count = views.shape[1]
        train = training_nodes(train_mask, count)
        labels = training_labels(y, train, count, self.num_classes)
        graph = self._graph_of(views[0], EdgeIndexAdjacency.read(train.new_empty(2, 0), count), None, labels, train)
        terms = self.model.loss_terms(graph, Prediction(views.mean(0), nodes=torch.arange(count), views=views))
        return {name: term.value() for name, term in terms.items()}

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Groups for an optimiser of torch."""
        return self.model.parameter_groups()

    def confidences(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Prediction:
        """Logits, label scores, precisions and influences of every node, without dropout."""
        with self.model.evaluating():
            prediction: Prediction = self.model(self._graph(x, edge_index, edge_weight))
        return prediction

    def _network(self, channels: Any) -> Tensor:
        logits: Tensor = self.model.network(channels)
        return logits

    def _random_view(self, graph: Graph) -> Tensor:
        if not int(self.model.steps) and self.model.network.normalise != "none":
            with torch.no_grad():
                self.model.setup(graph)
        self.model.steps += 1
        nodes = torch.arange(graph.num_nodes)
        return self._network(self.model.inputs(graph).views(nodes, self.model.view_size))

    def _exact_channels(self, graph: Graph) -> list[Tensor]:
        """The channels without truncated rows, from messages that an explainer can mask."""
        model, x, adjacency = self.model, self.model.inputs(graph).features, graph.adjacency
        assert isinstance(x, Tensor)
        assert isinstance(adjacency, EdgeIndexAdjacency)
        if model.channels == "own":
            return [x]
        propagation = model.propagation(graph)
        if model.channels == "summed":
            sums = [self.walk(adjacency, propagation.influence, x, walk_coefficients(model.order, model.decay))]
        else:
            one = self.walk(adjacency, propagation.without_loops, x, [0.0, 1.0])
            sums = [one, self.walk.two_steps(adjacency, propagation.without_loops, x)]
        if model.unit_length:
            sums = [functional.normalize(each, eps=torch.finfo(each.dtype).tiny) for each in sums]
        return sums if model.channels == "summed" else [x, *sums]

    def _graph(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Graph:
        check_features(x, self.in_channels)
        return self._graph_of(x, *self._edges(edge_index, edge_weight, len(x)))

    def _edges(
        self, edge_index: Tensor, edge_weight: Tensor | None, count: int
    ) -> tuple[EdgeIndexAdjacency, Tensor | None]:
        """The adjacency and the weights of its entries; kept while the same unchanged tensors are passed."""
        versions = getattr(edge_index, "_version", -1), -1 if edge_weight is None else edge_weight._version, count
        known = (None, None, None) if self._known is None else self._known[0]
        if self._known is not None and known[0] is edge_index and known[1] is edge_weight and known[2] == versions:
            return self._known[1], self._known[2]
        adjacency = EdgeIndexAdjacency.read(edge_index, count)
        weights = None if edge_weight is None else _entry_weights(adjacency, edge_weight)
        self._known = ((edge_index, edge_weight, versions), adjacency, weights)
        return adjacency, weights

    def _graph_of(
        self,
        x: Tensor,
        adjacency: EdgeIndexAdjacency,
        weights: Tensor | None,
        labels: Tensor | None = None,
        train: Tensor | None = None,
    ) -> Graph:
        count, none = len(x), torch.empty(0, dtype=torch.long)
        return Graph(
            name="",
            adjacency=adjacency,
            features=x,
            labels=torch.full((count,), -1) if labels is None else labels,
            train=none if train is None else train,
            validation=none,
            test=none,
            node_ids=torch.arange(count),
            node_names=("",) * count,
            class_names=("",) * self.num_classes,
            edge_counts=EdgeCounts(adjacency.edge_index.shape[1], 0, 0, 0, 0),
            edge_weight=weights,
        )

    def __repr__(self) -> str:
        hidden = [self.options["hidden_dim"]] * (self.options["num_layers"] - 1)
        widths = " -> ".join(map(str, [self.in_channels, *hidden, self.num_classes]))
        return f"{type(self).__name__}({widths}, channels={self.model.channels!r})"


def _entry_weights(adjacency: EdgeIndexAdjacency, edge_weight: Tensor) -> Tensor:
    count = adjacency.edge_index.shape[1]
    if edge_weight.shape != (count,) or not edge_weight.is_floating_point():
        got = f"{edge_weight.dtype} of shape {tuple(edge_weight.shape)}"
        raise DataError(f"edge_weight: expected floats of shape ({count},), one per edge, got {got}")
    if count and not (edge_weight.isfinite().all() and edge_weight.min() >= 0):
        raise DataError("edge_weight: expected finite numbers of at least 0")
    shares = edge_weight.detach().double() * adjacency.shares
    entries = torch.zeros(adjacency.num_entries, dtype=torch.double).index_add_(0, adjacency.entries, shares)
    return entries.index_fill_(0, adjacency.loops, 1.0).float()
