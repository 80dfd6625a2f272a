"""The names of the data sets of ``confgcn.data.datasets``, available without importing torch."""

from __future__ import annotations

from pathlib import Path

from confgcn.exceptions import unknown_name

GRAPH_NAMES = ("citeseer", "cora", "cora_ml", "demo", "pubmed")


def is_path(text: str) -> bool:
    """Whether a text is a file or folder rather than the name of a graph."""
    return text not in GRAPH_NAMES and ("/" in text or "." in text or Path(text).exists())


def check_graph_name(name: str) -> None:
    """Refuse the name of a graph that does not exist."""
    if name not in GRAPH_NAMES:
        raise unknown_name("graph", name, GRAPH_NAMES)
