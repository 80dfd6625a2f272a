"""How a sample of a graph, one batch of a training, relates to the whole graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
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

    def to(self, device: torch.device) -> Sample:
        """The same sample with its tensors on this device."""
        return replace(self, labelled=self.labelled.to(device))
