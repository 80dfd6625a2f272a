"""The names of the graphs that `confgcn.data.datasets` can load, known without loading torch."""

from __future__ import annotations

from confgcn.exceptions import unknown_name

GRAPH_NAMES = ("citeseer", "cora", "cora_ml", "demo", "pubmed")


def check_graph_name(name: str) -> None:
    """Is there a graph of that name?"""
    if name not in GRAPH_NAMES:
        raise unknown_name("graph", name, GRAPH_NAMES)
