"""The channels of a graph's nodes: what the classifier of the propagated model receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import ref

from torch import Tensor

from confgcn.data.transforms import scale_features
from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.models.confgcn.channel_network import Block
from confgcn.models.confgcn.label_channel import far_label_channel, label_channel
from confgcn.sparse import SparseMatrix, rows_of

if TYPE_CHECKING:
    from confgcn.models.confgcn.propagated import PropagatedConfGCN

HOPS = (1, 2)  # channels of ``apart``
DENSE_COLUMNS = 1024  # up to so many, sparse features are made dense: propagated ones have few zeros
MOST_KEPT = 2**25  # numbers in all channels that are kept of a graph


@dataclass(frozen=True, eq=False)
class ChannelInputs:
    """What the channels of a graph's nodes are computed from.

    Attributes:
        tables: the rows of each channel of features; None for the node's own features.
        labels: the channels of labels: none, near, or near and far.
        graph: a weak reference to the graph.
    """

    features: Block
    tables: tuple[PropagationRows | None, ...]
    labels: tuple[Tensor, ...]
    unit_length: bool
    graph: ref[Graph]
    _kept: list[tuple[Tensor, list[Block]]] = field(default_factory=list, init=False)

    @classmethod
    def of(cls, model: PropagatedConfGCN, graph: Graph) -> ChannelInputs:
        """Of a model and a graph."""
        features = scale_features(graph, "unit").features if model.unit_length else graph.features
        labels: tuple[Tensor, ...] = ()
        if model.channels == "labels":
            labels = (label_channel(graph), far_label_channel(graph))
        elif model.label_channel:
            labels = (label_channel(graph),)
        return cls(features, _tables(model, graph), labels, model.unit_length, ref(graph))

    def views(self, nodes: Tensor, size: int) -> list[Block]:
        """The channels of these nodes in random views of their rows; of whole rows where ``size`` is zero."""
        return self.channels(nodes, lambda table: table.view(size) if size else table.normalised())

    def whole(self, nodes: Tensor) -> list[Block]:
        """The channels of these nodes from whole rows."""
        return self.channels(nodes, lambda table: table.normalised())

    def kept(self, nodes: Tensor) -> list[Block] | None:
        """The channels of the training or the validation nodes from whole rows, kept: they are used in many steps.

        None for other nodes, and where the channels would be too large.
        """
        for known, channels in self._kept:
            if known is nodes:
                return channels
        if not self._can_keep(nodes):
            return None
        self._kept.append((nodes, self.whole(nodes)))
        return self._kept[-1][1]

    def _can_keep(self, nodes: Tensor) -> bool:
        graph = self.graph()
        if graph is None or (nodes is not graph.train and nodes is not graph.validation):
            return False
        columns = len(self.tables) * self.features.shape[1] + sum(labels.shape[1] for labels in self.labels)
        return (sum(len(known) for known, _ in self._kept) + len(nodes)) * columns <= MOST_KEPT

    def channels(self, nodes: Tensor, rows: Callable[[PropagationRows], PropagationRows]) -> list[Block]:
        """The channels of these nodes, from their rows as ``rows`` changes them."""
        channels = [
            rows_of(self.features, nodes)
            if table is None
            else rows(table.of(nodes)).features(self.features, unit_length=self.unit_length)
            for table in self.tables
        ]
        if self.features.shape[1] <= DENSE_COLUMNS:
            channels = [x if isinstance(x, Tensor) else _dense(x) for x in channels]
        return [*channels, *(labels.index_select(0, nodes) for labels in self.labels)]


def _tables(model: PropagatedConfGCN, graph: Graph) -> tuple[PropagationRows | None, ...]:
    if not model.uses_influence:
        return (None,) if model.channels == "own" else ()
    propagation = model.propagation(graph)
    if model.channels == "summed":
        return (propagation.summed(model.order, model.decay),)
    return (None, *(propagation.hop(number) for number in HOPS))


def _dense(matrix: SparseMatrix) -> Tensor:
    dense = matrix.values.new_zeros(matrix.shape)
    dense[matrix.structure.rows, matrix.structure.indices] = matrix.values
    return dense
