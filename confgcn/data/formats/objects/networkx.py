"""networkx: its graphs as input, with the string of every node as its id, and graphs as ``networkx.Graph``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from confgcn.data.formats.format import ObjectFormat
from confgcn.data.formats.objects.graphs import check_unweighted, dense_features, import_library
from confgcn.data.formats.objects.node_data import NodeData, comes_from
from confgcn.data.formats.table import shortened
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError, UsageError, unknown_name
from confgcn.graph import Graph

DEFAULT_ATTRIBUTES = {"features": ("x", "features"), "labels": ("label",), "split": ("split",)}


def from_networkx(graph: Any, nodes: NodeData, name: str) -> RawGraph:
    """Features, labels and split may be names of node attributes; direction and parallel edges do not matter."""
    _check_weights(graph)
    if nodes.names is not None:
        raise UsageError("node_names: the nodes of a networkx graph are their own names; use networkx.relabel_nodes")
    places = {node: place for place, node in enumerate(graph.nodes)}
    edges = np.array([(places[source], places[target]) for source, target in graph.edges()], dtype=np.int64)
    attributes = {kind: _attribute(graph, kind, getattr(nodes, kind)) for kind in DEFAULT_ATTRIBUTES}
    return replace(nodes, names=_texts(places), **attributes).raw(name, edges, len(places))


def to_networkx(graph: Graph, *, features: bool = True) -> Any:
    """``networkx.Graph``: nodes by name, with the attributes ``label`` and ``split`` where known, and ``x``, a row.

    Use ``features=False`` for GraphML and other files, which hold no arrays.
    """
    check_unweighted(graph)
    exported = import_library("networkx", "networkx").Graph(name=graph.name)
    rows = dense_features(graph) if features else None
    for node, (name, label, split) in enumerate(
        zip(graph.node_names, graph.labels.tolist(), graph.split_names(), strict=True)
    ):
        found = {"label": graph.class_names[label] if label >= 0 else None, "split": split or None}
        exported.add_node(name, **{key: text for key, text in found.items() if text is not None})
        if rows is not None:
            exported.nodes[name]["x"] = rows[node]
    ends = graph.neighbours.rows.tolist(), graph.neighbours.indices.tolist()
    names = graph.node_names
    exported.add_edges_from((names[one], names[other]) for one, other in zip(*ends, strict=True) if one < other)
    return exported


def _attribute(graph: Any, kind: str, given: Any) -> Any:
    """The given value, the attribute that it names, or by default an attribute of a customary name."""
    if isinstance(given, str):
        held = _held(graph, given)
        if not held:
            known = {str(key) for _, attributes in graph.nodes(data=True) for key in attributes}
            raise unknown_name("node attribute", given, known)
        return held
    if given is not None:
        return given
    found = next((held for held in (_held(graph, name) for name in DEFAULT_ATTRIBUTES[kind]) if held), None)
    if kind == "labels" and found is not None:
        _check_no_names(found, len(graph))
    return found


def _held(graph: Any, attribute: str) -> dict[Any, Any]:
    return {node: held[attribute] for node, held in graph.nodes(data=True) if attribute in held}


def _check_no_names(labels: dict[Any, Any], num_nodes: int) -> None:
    """Refuse node names as labels: drawing programs write the name of a node as its label."""
    if num_nodes > 2 and len({str(label) for label in labels.values()}) == num_nodes:
        raise DataError(
            "the node attribute 'label' differs for every node, as names do; pass labels, or rename the attribute"
        )


def _texts(nodes: Any) -> Sequence[str]:
    by_text: dict[str, Any] = {}
    for node in nodes:
        other = by_text.setdefault(str(node), node)
        if other is not node:
            pair = f"{shortened(repr(other))} and {shortened(repr(node))}"
            raise DataError(f"the nodes {pair} have the same name as text; rename one of them")
    return list(by_text)


def _check_weights(graph: Any) -> None:
    for source, target, weight in graph.edges(data="weight", default=1):
        if not isinstance(weight, int | float | np.number) or weight != 1:
            raise DataError(
                f"the edge {shortened(repr(source))} - {shortened(repr(target))} has weight "
                f"{shortened(repr(weight))}; weights are not supported: delete the attribute 'weight' of the edges"
            )


FORMAT = ObjectFormat("networkx", "a networkx graph", partial(comes_from, "networkx"), from_networkx, to_networkx)
