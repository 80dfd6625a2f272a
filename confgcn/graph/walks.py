"""Random walks over the edges, and the pairs of nodes that come close to each other on them."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor

from confgcn.sparse import SparseStructure


def random_walks(neighbours: SparseStructure, starts: Tensor, *, length: int) -> Tensor:
    """A walk from every start, each step to a neighbour drawn evenly; without neighbours it stays.

    Shapes: ``starts`` (walks,) -> (walks, ``length``), the start included.
    """
    degrees = neighbours.indptr.diff()
    walks = torch.empty(length, len(starts), dtype=torch.long)
    walks[0] = starts
    for before, after in pairwise(walks):
        degree = degrees[before]
        choice = (torch.rand(len(starts), dtype=torch.double) * degree).long()
        edge = (neighbours.indptr[before] + choice).clamp(max=max(neighbours.num_entries - 1, 0))
        torch.where(degree > 0, neighbours.indices[edge] if neighbours.num_entries else before, before, out=after)
    return walks.T


def context_pairs(walks: Tensor, *, window: int) -> tuple[Tensor, Tensor]:
    """Every two places of a walk at most ``window`` apart, as (centre, context) in both orders.

    Shapes: (walks, length) -> two of (pairs,).
    """
    shifts = range(1, min(window, walks.shape[1] - 1) + 1)
    earlier = torch.cat([walks[:, :-shift].reshape(-1) for shift in shifts] or [walks.new_empty(0)])
    later = torch.cat([walks[:, shift:].reshape(-1) for shift in shifts] or [walks.new_empty(0)])
    return torch.cat([earlier, later]), torch.cat([later, earlier])


def with_strangers(
    centre: Tensor, other: Tensor, *, num_strangers: int, num_nodes: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The pairs with plus one, then every centre with so many nodes drawn evenly and minus one.

    Shapes: (pairs,) each -> three of (pairs * (1 + ``num_strangers``),).
    """
    strangers = torch.randint(num_nodes, (num_strangers * len(centre),))
    sign = torch.cat([torch.ones(len(centre)), -torch.ones(len(strangers))])
    return centre.repeat(1 + num_strangers), torch.cat([other, strangers]), sign
