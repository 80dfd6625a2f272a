"""How a sample of a graph, one batch of a training, relates to the whole graph."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Sample:
    """A batch of ``batch_size`` nodes, which are the first rows; the other rows are nodes they receive messages from.

    Only the batch nodes have terms in the loss. ``num_nodes`` and ``num_train`` count the whole graph.

    Shapes: ``labelled`` (n,): rows of all training nodes, also those outside the batch.
    """

    batch_size: int
    labelled: Tensor
    num_nodes: int
    num_train: int
