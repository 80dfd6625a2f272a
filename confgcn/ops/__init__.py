"""Operators with gradients over the entries of a sparse structure, and the two layers that several methods share.

Edges are those of a graph's ``adjacency`` or of a part of it: row = target, column = source. What is said of (E,)
holds for (E, heads) too: one weight for every head. The gradients are derived by hand, and once only: a second
derivative is refused.
"""

from __future__ import annotations

from confgcn.ops.convolve import convolve
from confgcn.ops.distance import edge_distance
from confgcn.ops.dropout import dropout
from confgcn.ops.edge_sum import edge_sum
from confgcn.ops.gru_cell import GRUCell
from confgcn.ops.halo import Halo, with_halo_rows
from confgcn.ops.linear import Linear
from confgcn.ops.normalise import Normalisation, degree_weights, mean_weights, normalise
from confgcn.ops.product import aggregate, matmul
from confgcn.ops.propagate import propagate
from confgcn.ops.rows import gather, rows_at, softmax

__all__ = [
    "GRUCell",
    "Halo",
    "Linear",
    "Normalisation",
    "aggregate",
    "convolve",
    "degree_weights",
    "dropout",
    "edge_distance",
    "edge_sum",
    "gather",
    "matmul",
    "mean_weights",
    "normalise",
    "propagate",
    "rows_at",
    "softmax",
    "with_halo_rows",
]
