"""The prediction of one node of a finished run, taken apart."""

from __future__ import annotations

from pathlib import Path

from confgcn.confidence.explanations import Explanation, explain
from confgcn.exceptions import unknown_name
from confgcn.graph import Graph
from confgcn.runs.saved import graph_of, load_run


def explain_node(path: Path, node: str, *, data_dir: Path | None = None) -> tuple[Graph, Explanation]:
    """The graph of the run, and what speaks for and against the label of the node of that name."""
    run = load_run(path)
    graph = graph_of(path, run, data_dir=data_dir)
    if node not in graph.node_names:
        raise unknown_name(f"node of {graph.name}", node, graph.node_names)
    prepared = run.prepared(graph)
    return prepared, explain(run.method, prepared.training_view(), graph.node_names.index(node))
