"""Everything that ends in a Graph: benchmark files, users' files, mapped ones, synthetic graphs, splits, transforms."""

from confgcn.data.datasets import DATASETS, Dataset, load_graph
from confgcn.data.graph_store import open_store

__all__ = ["DATASETS", "Dataset", "load_graph", "open_store"]
