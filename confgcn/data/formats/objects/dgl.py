"""DGL: its graphs as input."""

from __future__ import annotations

from typing import Any

import numpy as np

from confgcn.data.formats.format import ObjectFormat
from confgcn.data.formats.objects.matrices import from_edge_index
from confgcn.data.formats.objects.node_data import NodeData, plain_array
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError

WEIGHTS = ("weight", "edge_weight", "w")  # customary keys of ``edata``


def from_dgl(graph: Any, nodes: NodeData, name: str) -> RawGraph:
    """Read the edges and, of ``ndata``, feat, label, train_mask, val_mask and test_mask."""
    _check_kind(graph)
    source, target = (plain_array(end, "edges") for end in graph.edges())
    held = graph.ndata
    masks = {split: held[f"{split}_mask"] for split in ("train", "val", "test") if f"{split}_mask" in held}
    own = nodes.with_defaults(
        features=held.get("feat"),
        labels=held.get("label"),
        split=masks or None,
    )
    return from_edge_index(np.stack([source, target]), own, name, int(graph.num_nodes()))


def _check_kind(graph: Any) -> None:
    kinds = list(getattr(graph, "ntypes", ())), list(getattr(graph, "etypes", ()))
    if any(len(names) > 1 for names in kinds):
        found = ", ".join(map(str, kinds[0] + kinds[1]))
        raise DataError(f"the DGL graph has several kinds of nodes or edges ({found}); only one of each is supported")
    weights = next((key for key in WEIGHTS if key in getattr(graph, "edata", ())), None)
    if weights is not None:
        raise DataError(f"the DGL graph has weights of edges; they are not supported: delete graph.edata[{weights!r}]")


def _is_dgl(graph: Any) -> bool:
    return (
        callable(getattr(graph, "edges", None))
        and callable(getattr(graph, "num_nodes", None))
        and hasattr(graph, "ndata")
    )


FORMAT = ObjectFormat("dgl", "a DGL graph", _is_dgl, from_dgl)
