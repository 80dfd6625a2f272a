"""The graph as one value, and functions of it."""

from confgcn.graph.graph import EdgeCounts, Graph, Sample, Shard, distinct, symmetric_adjacency

__all__ = ["EdgeCounts", "Graph", "Sample", "Shard", "distinct", "symmetric_adjacency"]
