"""Divide held-out labels into those that choose and calibrate, and those that certify."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

HeldOutUse = Literal["divided", "whole"]
FEWEST_TO_DIVIDE = 60  # of fewer labels neither half is enough for its purpose
# One fixed number instead of the seed of the run: settings that were chosen with one seed must not have been chosen
# with labels that certify a run of another seed.
SEED = 0


class HeldOutNodes(NamedTuple):
    """Nodes with held-out labels, sorted: those that choose and calibrate (n,), those that certify (m,)."""

    choosing: Tensor
    certifying: Tensor


def divide(nodes: Tensor, labels: Tensor, use: HeldOutUse = "divided") -> HeldOutNodes:
    """Divide held-out nodes at random into two halves with the same share of every class, to within one node.

    All choose and none certify where ``use`` is "whole", or where there are fewer than ``FEWEST_TO_DIVIDE``.

    Shapes: ``nodes`` (n,) sorted, ``labels`` (n,) of these nodes.
    """
    if use == "whole" or len(nodes) < FEWEST_TO_DIVIDE:
        return HeldOutNodes(nodes, nodes[:0])
    shuffled = torch.from_numpy(np.random.RandomState(SEED).permutation(len(nodes)))
    by_class = shuffled[torch.argsort(labels[shuffled], stable=True)]
    choosing, certifying = (by_class[first::2].sort().values for first in (0, 1))
    return HeldOutNodes(nodes[choosing], nodes[certifying])
