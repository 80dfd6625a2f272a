"""Everything that ends in a Graph: benchmark files, the built-in graph, synthetic graphs, splits, transforms."""

from confgcn.data.datasets import DATASETS, Dataset, load_graph

__all__ = ["DATASETS", "Dataset", "load_graph"]
