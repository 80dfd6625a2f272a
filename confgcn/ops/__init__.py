"""Operators with gradients over the entries of a sparse structure: every aggregating method is built from these.

Edges are those of a graph's ``adjacency`` or of a part of it: row = target, column = source. What is said of (E,)
holds for (E, heads) too: one weight for every head. The gradients are derived by hand, and once only: a second
derivative is refused.
"""

from __future__ import annotations

from confgcn.ops.convolve import convolve
from confgcn.ops.distance import edge_distance
from confgcn.ops.dropout import dropout
from confgcn.ops.normalise import Normalisation, degree_weights, normalise
from confgcn.ops.product import aggregate, matmul
from confgcn.ops.rows import rows_at, softmax

__all__ = [
    "Normalisation",
    "aggregate",
    "convolve",
    "degree_weights",
    "dropout",
    "edge_distance",
    "matmul",
    "normalise",
    "rows_at",
    "softmax",
]
