"""Operators over the entries of a sparse structure, with gradients, and layers that several methods share.

Edges are those of a graph's ``adjacency`` or of some of its rows: row = target, column = source. Edge quantities of
shape (E,) may have shape (E, heads). Gradients derived by hand have no second derivative: it is refused.
"""

from __future__ import annotations

from confgcn.ops.dropout import dropout
from confgcn.ops.edges import degree_weights, edge_distance, mean_weights
from confgcn.ops.halo import Halo, with_halo_rows
from confgcn.ops.layers import GRUCell, Linear
from confgcn.ops.products import aggregate, convolve, matmul, propagate
from confgcn.ops.softmax import edge_softmax, softmax

__all__ = [
    "GRUCell",
    "Halo",
    "Linear",
    "aggregate",
    "convolve",
    "degree_weights",
    "dropout",
    "edge_distance",
    "edge_softmax",
    "matmul",
    "mean_weights",
    "propagate",
    "softmax",
    "with_halo_rows",
]
