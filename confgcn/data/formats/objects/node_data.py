"""Data of nodes, given beside a graph object or carried by it: features, labels, names, split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from confgcn.data.labels import label_texts
from confgcn.data.raw import RawGraph
from confgcn.exceptions import DataError, UsageError, unknown_name
from confgcn.graph import Graph
from confgcn.graph import validation as checks
from confgcn.graph.graph import SPLITS
from confgcn.graph.validation import IntArray

SPLIT_NAMES = {"train": "train", "validation": "validation", "val": "validation", "test": "test"}


@dataclass(frozen=True, eq=False)
class NodeData:
    """Values in the order of the nodes, or by node: a mapping, or a pandas object with the nodes as its index.

    Attributes:
        features: (N, F) numbers: an array, a tensor, a scipy sparse matrix.
        labels: see :func:`confgcn.data.labels.label_texts`.
        names: one per node, distinct as texts; None for their positions.
        split: for each node "train", "validation", "test" or "", or for each of these a mask or positions of nodes.
        class_names, feature_names: as in :class:`~confgcn.data.raw.RawGraph`.
        trained: the graph that new nodes are added to; edges of data frames may name its nodes.
    """

    features: Any = None
    labels: Any = None
    names: Sequence[Any] | None = None
    split: Any = None
    class_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    trained: Graph | None = None

    def with_defaults(self, **own: Any) -> NodeData:
        """Fill what was not given with what the graph object carries."""
        names = {"class_names": self.labels, "feature_names": self.features}  # given values have other names
        return replace(self, **{key: value for key, value in own.items() if names.get(key, getattr(self, key)) is None})

    def raw(self, name: str, edges: Any, num_nodes: int) -> RawGraph:
        """The graph of these nodes; ``edges`` (M, 2) are positions."""
        for kind, value in (("features", self.features), ("labels", self.labels), ("split", self.split)):
            if isinstance(value, str):
                raise UsageError(f"{kind} = {value!r}: only the nodes of a networkx graph have attributes by name")
        ids = checks.checked_names(_listed(self.names), "node", num_nodes)
        return RawGraph(
            name=name,
            ids=ids,
            edges=checks.checked_edges(edges, num_nodes),
            features=None if self.features is None else _feature_rows(self.features, ids),
            feature_names=self._feature_names(),
            labels=None if self.labels is None else label_texts(_per_node(self.labels, ids, "labels"), num_nodes),
            split=None if self.split is None else _split_texts(self.split, ids),
            class_names=self.class_names,
        )

    def _feature_names(self) -> Sequence[str] | None:
        return [str(column) for column in self.features.columns] if is_frame(self.features) else self.feature_names


def plain_array(values: Any, name: str) -> Any:
    """An array-like object as a numpy array, or as a scipy matrix if it is sparse."""
    if sp.issparse(values):
        return values
    if not isinstance(values, torch.Tensor):
        return checks.as_array(values, name)
    tensor = values.detach().cpu()
    tensor = tensor.float() if tensor.dtype == torch.bfloat16 else tensor  # numpy has no bfloat16
    if tensor.layout == torch.strided:
        return tensor.numpy()
    stored = tensor.to_sparse_coo().coalesce()
    try:
        return sp.coo_matrix((stored.values().numpy(), stored.indices().numpy()), shape=tuple(stored.shape))
    except ValueError as error:
        raise DataError(f"{name}: its entries do not fit its shape {tuple(stored.shape)} ({error})") from None


def _feature_rows(features: Any, ids: Sequence[str]) -> Any:
    by_node = _by_node(features)
    if by_node is not None:
        features = _looked_up(by_node, ids, "features")
        missing = next((node for node, row in zip(ids, features, strict=True) if row is None), None)
        if missing is not None:
            raise DataError(f"features: node {checks.shown(missing)} has none; every node needs a row")
    array = plain_array(features, "features")
    checks.check_feature_shape(array.shape, len(ids))
    return array


def _per_node(values: Any, ids: Sequence[str], kind: str) -> Any:
    """Values in the order of the nodes, None for a node that a mapping does not name."""
    by_node = _by_node(values)
    return values if by_node is None else _looked_up(by_node, ids, kind)


def _by_node(values: Any) -> Mapping[Any, Any] | None:
    if isinstance(values, Mapping):
        return values
    if comes_from("pandas", values) and hasattr(values, "index"):
        if not values.index.is_unique:
            raise DataError(f"pandas {type(values).__name__}: its index names a node twice")
        return dict(zip(values.index, values.to_numpy(), strict=True))
    return None


def comes_from(library: str, value: Any) -> bool:
    """Whether its class or a base class is of this library."""
    return any(f"{kind.__module__}.".startswith(f"{library}.") for kind in type(value).__mro__)


def is_by_node(values: Any) -> bool:
    """Whether it maps nodes to values."""
    return _by_node(values) is not None


def is_frame(values: Any) -> bool:
    """Whether it is a pandas data frame."""
    return comes_from("pandas", values) and hasattr(values, "columns")


def _looked_up(by_node: Mapping[Any, Any], ids: Sequence[str], kind: str) -> list[Any]:
    by_id = {str(node): value for node, value in by_node.items()}
    unknown = by_id.keys() - set(ids)
    if unknown:
        first = next(node for node in by_id if node in unknown)
        raise DataError(f"{kind}: {checks.shown(first)} is none of the nodes ({len(unknown)} such names)")
    return [by_id.get(node) for node in ids]


def _split_texts(split: Any, ids: Sequence[str]) -> list[str]:
    if isinstance(split, Mapping) and any(key in SPLIT_NAMES for key in split):
        wrong = next((key for key in split if key not in SPLIT_NAMES), None)
        if wrong is not None:
            raise unknown_name("split", str(wrong), SPLITS)
        return _split_texts_by_name(
            {SPLIT_NAMES[key]: nodes for key, nodes in split.items() if nodes is not None}, len(ids)
        )
    texts = ["" if text is None else str(text) for text in _listed(_per_node(split, ids, "split")) or ()]
    if len(texts) != len(ids):
        raise DataError(f"split: expected one name per node, {len(ids)}, got {len(texts)}")
    wrong = next((text for text in texts if text not in (*SPLITS, "")), None)
    if wrong is not None:
        raise unknown_name("split", wrong, SPLITS)
    return texts


def _split_texts_by_name(given: Mapping[str, Any], num_nodes: int) -> list[str]:
    texts = np.full(num_nodes, "", dtype=object)
    nodes = {split: _positions(value, split, num_nodes) for split, value in given.items()}
    checks.check_disjoint(nodes)
    for split, positions in nodes.items():
        texts[positions] = split
    return list(texts)


def _positions(nodes: Any, name: str, num_nodes: int) -> IntArray:
    array = plain_array(nodes, name)
    if array.ndim == 2:
        raise DataError(f"{name} mask: shape {array.shape} holds {array.shape[1]} splits; pass one, mask[:, 0]")
    return checks.checked_split(array, name, np.zeros(num_nodes, dtype=np.int64))


def _listed(values: Any) -> list[Any] | None:
    """As a list of Python values."""
    return values.tolist() if hasattr(values, "tolist") else None if values is None else list(values)
