"""Random walks over the edges, and training pairs for skip-gram with negative sampling."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from confgcn.sparse import SparseStructure


def random_walks(neighbours: SparseStructure, starts: Tensor, *, length: int) -> Tensor:
    """A walk from every start, each step to a uniformly drawn neighbour; a node without neighbours repeats itself.

    Shapes: ``starts`` (walks,) -> (walks, ``length``), the start included.
    """
    degrees = neighbours.indptr.diff()
    walks = torch.empty(length, len(starts), dtype=torch.long, device=starts.device)
    walks[0] = starts
    for before, after in pairwise(walks):
        degree = degrees[before]
        choice = (torch.rand(len(starts), dtype=torch.double).to(degree.device) * degree).long()
        edge = (neighbours.indptr[before] + choice).clamp(max=max(neighbours.num_entries - 1, 0))
        torch.where(degree > 0, neighbours.indices[edge] if neighbours.num_entries else before, before, out=after)
    return walks.T


def context_pairs(walks: Tensor, *, window: int) -> tuple[Tensor, Tensor]:
    """Pairs of nodes at most ``window`` steps apart on a walk, as (centre, context) in both orders.

    Shapes: (walks, length) -> two of (pairs,).
    """
    shifts = range(1, min(window, walks.shape[1] - 1) + 1)
    earlier = torch.cat([walks[:, :-shift].reshape(-1) for shift in shifts] or [walks.new_empty(0)])
    later = torch.cat([walks[:, shift:].reshape(-1) for shift in shifts] or [walks.new_empty(0)])
    return torch.cat([earlier, later]), torch.cat([later, earlier])


def with_negatives(
    centre: Tensor, other: Tensor, *, num_negatives: int, num_nodes: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The given pairs with sign +1, then every centre with ``num_negatives`` uniformly drawn nodes and sign -1.

    Shapes: (pairs,) each -> three of (pairs * (1 + ``num_negatives``),).
    """
    negatives = torch.randint(num_nodes, (num_negatives * len(centre),)).to(centre.device)
    sign = torch.cat([torch.ones(len(centre)), -torch.ones(len(negatives))]).to(centre.device)
    return centre.repeat(1 + num_negatives), torch.cat([other, negatives]), sign
