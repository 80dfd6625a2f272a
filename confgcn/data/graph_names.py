"""The names of the graphs that `confgcn.data.datasets` can load, known without loading torch."""

from __future__ import annotations

from pathlib import Path

from confgcn.exceptions import unknown_name

GRAPH_NAMES = ("citeseer", "cora", "cora_ml", "demo", "pubmed")


def is_path(text: str) -> bool:
    """Does a text mean a file or folder, and not a graph by its name?"""
    return text not in GRAPH_NAMES and ("/" in text or "." in text or Path(text).exists())


def check_graph_name(name: str) -> None:
    """Is there a graph of that name?"""
    if name not in GRAPH_NAMES:
        raise unknown_name("graph", name, GRAPH_NAMES)
