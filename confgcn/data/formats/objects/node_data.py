"""What is given beside the edges of a graph object, one thing per node: features, labels, names, parts of the split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from confgcn.data.label_texts import label_texts
from confgcn.data.raw import PARTS, RawGraph
from confgcn.exceptions import DataError, UsageError, unknown_name
from confgcn.graph import Graph
from confgcn.graph import validation as checks
from confgcn.graph.validation import IntArray

PART_NAMES = {"train": "train", "validation": "validation", "val": "validation", "test": "test"}


@dataclass(frozen=True, eq=False)
class NodeData:
    """Everything in the order of the nodes, or by node: a mapping, or a frame or series of pandas with their index.

    Attributes:
        features: (N, F) numbers: an array, a tensor, a scipy sparse matrix.
        labels: see :func:`confgcn.data.label_texts.label_texts`.
        names: one per node, distinct as texts; positions where there are none.
        split: for each node its part, or for each part a mask or the positions of its nodes.
        class_names, feature_names: as in :class:`~confgcn.data.raw.RawGraph`.
        trained: the graph that these are to be joined to, whose nodes and columns frames may count on.
    """

    features: Any = None
    labels: Any = None
    names: Sequence[Any] | None = None
    split: Any = None
    class_names: Sequence[str] | None = None
    feature_names: Sequence[str] | None = None
    trained: Graph | None = None

    def with_own(self, **own: Any) -> NodeData:
        """The same, with what the graph object itself carries where nothing else was given."""
        names = {"class_names": self.labels, "feature_names": self.features}  # go with what they are the names of
        return replace(self, **{key: value for key, value in own.items() if names.get(key, getattr(self, key)) is None})

    def raw(self, name: str, edges: Any, num_nodes: int) -> RawGraph:
        """A graph of these nodes; ``edges`` (M, 2) are positions."""
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
    """Anything like an array as one of numpy, or of scipy where it is sparse."""
    if sp.issparse(values):
        return values
    if not isinstance(values, torch.Tensor):
        return checks.as_array(values, name)
    tensor = values.detach().cpu()
    tensor = tensor.float() if tensor.dtype == torch.bfloat16 else tensor  # which numpy does not know
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
            raise DataError(f"a {type(values).__name__} of pandas was given whose index names a node twice")
        return dict(zip(values.index, values.to_numpy(), strict=True))
    return None


def comes_from(library: str, value: Any) -> bool:
    """Is its class, or one that it inherits from, of this library?"""
    return any(f"{kind.__module__}.".startswith(f"{library}.") for kind in type(value).__mro__)


def is_by_node(values: Any) -> bool:
    """Does it say itself which node each value belongs to?"""
    return _by_node(values) is not None


def is_frame(values: Any) -> bool:
    """Is it a DataFrame of pandas?"""
    return comes_from("pandas", values) and hasattr(values, "columns")


def _looked_up(by_node: Mapping[Any, Any], ids: Sequence[str], kind: str) -> list[Any]:
    by_id = {str(node): value for node, value in by_node.items()}
    strangers = by_id.keys() - set(ids)
    if strangers:
        first = next(node for node in by_id if node in strangers)
        raise DataError(f"{kind}: {checks.shown(first)} is none of the nodes ({len(strangers)} such names)")
    return [by_id.get(node) for node in ids]


def _split_texts(split: Any, ids: Sequence[str]) -> list[str]:
    if isinstance(split, Mapping) and any(key in PART_NAMES for key in split):
        wrong = next((key for key in split if key not in PART_NAMES), None)
        if wrong is not None:
            raise unknown_name("part of the split", str(wrong), PARTS)
        return _texts_of_parts({PART_NAMES[key]: part for key, part in split.items() if part is not None}, len(ids))
    texts = ["" if text is None else str(text) for text in _listed(_per_node(split, ids, "split")) or ()]
    if len(texts) != len(ids):
        raise DataError(f"split: expected one part per node, {len(ids)}, got {len(texts)}")
    wrong = next((text for text in texts if text not in (*PARTS, "")), None)
    if wrong is not None:
        raise unknown_name("part of the split", wrong, PARTS)
    return texts


def _texts_of_parts(parts: Mapping[str, Any], num_nodes: int) -> list[str]:
    texts = np.full(num_nodes, "", dtype=object)
    nodes = {part: _positions(value, part, num_nodes) for part, value in parts.items()}
    checks.check_disjoint(nodes)
    for part, positions in nodes.items():
        texts[positions] = part
    return list(texts)


def _positions(part: Any, name: str, num_nodes: int) -> IntArray:
    array = plain_array(part, name)
    if array.ndim == 2:
        raise DataError(f"{name} mask: shape {array.shape} holds {array.shape[1]} splits; pass one, mask[:, 0]")
    return checks.checked_split(array, name, np.zeros(num_nodes, dtype=np.int64))


def _listed(values: Any) -> list[Any] | None:
    """As a list, whatever it came as; the numbers of a tensor are plain numbers in it."""
    return values.tolist() if hasattr(values, "tolist") else None if values is None else list(values)
