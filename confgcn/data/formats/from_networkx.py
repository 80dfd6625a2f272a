"""Graphs from networkx, which is not imported: nodes are any hashable things, and their texts are the ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from confgcn.data.formats.exports import to_networkx
from confgcn.data.formats.format import ObjectFormat
from confgcn.data.formats.table import shortened
from confgcn.data.node_data import NodeData, comes_from
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError, UsageError, unknown_name

UNASKED = {"features": ("x", "features"), "labels": ("label",), "split": ("split",)}  # node attributes read by default


def from_networkx(graph: Any, nodes: NodeData, name: str) -> RawGraph:
    """Features, labels and split may be names of node attributes; direction and parallel edges do not matter."""
    _check_weights(graph)
    if nodes.names is not None:
        raise UsageError("node_names: the nodes of a networkx graph are their own names; use networkx.relabel_nodes")
    places = {node: place for place, node in enumerate(graph.nodes)}
    edges = np.array([(places[source], places[target]) for source, target in graph.edges()], dtype=np.int64)
    attributes = {kind: _attribute(graph, kind, getattr(nodes, kind)) for kind in UNASKED}
    return replace(nodes, names=_texts(places), **attributes).raw(name, edges, len(places))


def _attribute(graph: Any, kind: str, given: Any) -> Any:
    """What was given itself, or the attribute of that name, or one that is read unasked."""
    if isinstance(given, str):
        held = _held(graph, given)
        if not held:
            known = {str(key) for _, attributes in graph.nodes(data=True) for key in attributes}
            raise unknown_name("node attribute", given, known)
        return held
    if given is not None:
        return given
    found = next((held for held in (_held(graph, name) for name in UNASKED[kind]) if held), None)
    if kind == "labels" and found is not None:
        _check_no_names(found, len(graph))
    return found


def _held(graph: Any, attribute: str) -> dict[Any, Any]:
    return {node: held[attribute] for node, held in graph.nodes(data=True) if attribute in held}


def _check_no_names(labels: dict[Any, Any], num_nodes: int) -> None:
    """Files of drawing programs call a node's name its label."""
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
