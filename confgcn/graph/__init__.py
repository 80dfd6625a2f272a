"""The graph as one value, and functions of it."""

from confgcn.graph.adjacency import EdgeCounts, distinct, symmetric_adjacency, symmetric_weights
from confgcn.graph.graph import Graph
from confgcn.graph.sample import Sample
from confgcn.graph.shard import Shard

__all__ = ["EdgeCounts", "Graph", "Sample", "Shard", "distinct", "symmetric_adjacency", "symmetric_weights"]
