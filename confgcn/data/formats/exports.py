"""A graph as an object of another library, which has to be installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from confgcn.exceptions import ResourceError
from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

MOST_DENSE_BYTES = 2**31  # of features, which the other libraries want dense


def to_pyg(graph: Graph) -> Any:
    """``torch_geometric.data.Data``: dense x, both directions of every edge without self loops, y with -1 for unknown.

    Masks are there for the parts of the split that have nodes. The names of nodes, classes and features come along,
    so that :func:`~confgcn.data.formats.registry.raw_graph` makes the same graph of it.
    """
    data = _imported("torch_geometric.data", "'confgcn[pyg]'").Data(
        x=torch.from_numpy(_dense_features(graph)),
        edge_index=torch.stack([graph.neighbours.indices, graph.neighbours.rows]),
        y=graph.labels.clone(),
        node_names=list(graph.node_names),
        class_names=list(graph.class_names),
    )
    for part, mask in (("train", "train_mask"), ("validation", "val_mask"), ("test", "test_mask")):
        positions = getattr(graph, part)
        if len(positions):
            data[mask] = torch.zeros(graph.num_nodes, dtype=torch.bool).index_fill_(0, positions, True)
    if graph.feature_names:
        data.feature_names = list(graph.feature_names)
    return data


def to_networkx(graph: Graph, *, features: bool = True) -> Any:
    """``networkx.Graph``: nodes by name, with the attributes ``label`` and ``split`` where known, and ``x``, a row.

    Files such as GraphML hold no rows of numbers: leave them out with ``features=False``.
    """
    made = _imported("networkx", "networkx").Graph(name=graph.name)
    rows = _dense_features(graph) if features else None
    for node, (name, label, part) in enumerate(
        zip(graph.node_names, graph.labels.tolist(), graph.split_names(), strict=True)
    ):
        found = {"label": graph.class_names[label] if label >= 0 else None, "split": part or None}
        made.add_node(name, **{key: text for key, text in found.items() if text is not None})
        if rows is not None:
            made.nodes[name]["x"] = rows[node]
    ends = graph.neighbours.rows.tolist(), graph.neighbours.indices.tolist()
    names = graph.node_names
    made.add_edges_from((names[one], names[other]) for one, other in zip(*ends, strict=True) if one < other)
    return made


def _dense_features(graph: Graph) -> npt.NDArray[np.float32]:
    """A copy of the features, (N, F)."""
    size = 4 * graph.num_nodes * graph.num_features
    if size > MOST_DENSE_BYTES:
        raise ResourceError(
            f"{graph.name}: features of shape {tuple(graph.features.shape)} would take {size / 2**30:.1f} GiB dense, "
            f"more than {MOST_DENSE_BYTES / 2**30:.0f}; leave out columns first"
        )
    features = graph.features
    dense = features.to_scipy().toarray() if isinstance(features, SparseMatrix) else features.numpy().copy()
    return np.asarray(dense, dtype=np.float32)


def _imported(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise ResourceError(f"this needs {library}: pip install {package} ({error})") from None
