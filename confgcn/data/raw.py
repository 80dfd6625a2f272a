"""RawGraph: a graph as it was read, and its conversion to a Graph in natural order.

The order is the same for every format and every order of rows, so neither changes a result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from confgcn.data.formats.table import listed
from confgcn.data.structural import KINDS, structural_features, structural_names
from confgcn.exceptions import DataError
from confgcn.graph import Graph, symmetric_adjacency
from confgcn.graph import validation as checks
from confgcn.graph.graph import SPLITS
from confgcn.graph.validation import IntArray
from confgcn.sparse import SparseMatrix, SparseStructure

SPARSE_BELOW = 0.25  # share of non-zero values below which features are stored sparse
MOST_DIGITS = 18  # of a 64-bit integer

_DIGITS = re.compile(r"(\d+)", re.ASCII)


@dataclass(frozen=True, eq=False)
class RawGraph:
    """Nodes in the order of the input, ids and labels as text.

    Attributes:
        ids: N distinct texts.
        edges: (M, 2), positions in ``ids``; direction, order and repetition do not matter.
        features: (N, F) numbers, an array or a scipy sparse matrix; None where none were given.
        feature_names: F distinct texts; None where columns have no names. A level of a category is
            a column ``name=level`` of zeros and ones.
        labels: N texts, None for unknown.
        split: N texts, each of ``SPLITS`` or ""; None where there is no split: then every labelled node is trained on.
        class_names: in order; None for those of the labels in natural order.
        notices: what a user should know about the input.
        edge_weight: (M,), finite and not negative, the same in both directions; None: all one.
        num_described: ids from this position on appear only in edges and have no features; None: all have.
    """

    name: str
    ids: Sequence[str]
    edges: IntArray
    features: Any = None
    feature_names: Sequence[str] | None = None
    labels: Sequence[str | None] | None = None
    split: Sequence[str] | None = None
    class_names: Sequence[str] | None = None
    notices: tuple[str, ...] = ()
    num_described: int | None = None
    edge_weight: Any = None

    def check(self) -> None:
        """Raise the errors of :meth:`build`, except that for missing features."""
        self._check_nodes()
        edges = checks.checked_edges(self.edges, len(self.ids))
        if self.edge_weight is not None:
            checks.checked_edge_weights(self.edge_weight, len(edges))
        labels, class_names = self._numbered_labels()
        checks.checked_names(class_names, "class", len(class_names))
        self._split_nodes(labels)
        if self.features is not None:
            checks.checked_features(self.features, len(self.ids))
            if self.feature_names is not None:
                checks.checked_names(self.feature_names, "feature", self.features.shape[1])

    def build(self, structural: Sequence[str] = ()) -> Graph:
        """Check everything, put nodes, features and classes in natural order, and store sparse features sparse.

        ``structural`` names features to add that are computed from the edges.
        """
        self._check_nodes()
        if self.features is None and not structural:
            raise DataError(
                f"{self.name}: there are no features; add some that are computed from the edges: "
                f"--add-features {', '.join(KINDS)}{''.join(f'. {text}' for text in self.notices)}"
            )
        order = natural_order(self.ids)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        edges = checks.checked_edges(self.edges, len(order))
        names = [self.ids[position] for position in order]
        labels, class_names = self._numbered_labels()
        features, feature_names = self._ordered_features(order)
        if structural:
            adjacency, _ = symmetric_adjacency(place[edges], len(order))
            features, feature_names = _with_structural(features, feature_names, adjacency, names, structural)
        graph = Graph.build(
            place[edges],
            _compact(features),
            labels[order],
            edge_weight=self.edge_weight,
            **{split: place[nodes] for split, nodes in self._split_nodes(labels).items()},
            node_names=names,
            class_names=class_names,
            name=self.name,
        )
        return replace(graph, feature_names=feature_names, reader_notices=self.notices)

    def _check_nodes(self) -> None:
        if not len(self.ids):
            raise DataError(f"{self.name}: the graph has no nodes")
        checks.checked_names(self.ids, "node", len(self.ids))

    def _numbered_labels(self) -> tuple[IntArray, Sequence[str]]:
        texts = self.labels if self.labels is not None else [None] * len(self.ids)
        if len(texts) != len(self.ids):
            raise DataError(f"{self.name}: expected one label per node, {len(self.ids)}, got {len(texts)}")
        found = list(dict.fromkeys(text for text in texts if text is not None))
        names = self.class_names or [found[position] for position in natural_order(found)]
        numbers = {name: number for number, name in enumerate(names)}
        unknown = next((text for text in found if text not in numbers), None)
        if unknown is not None:
            raise DataError(f"{self.name}: label {checks.shown(unknown)} is not one of the classes {listed(names)}")
        return np.array([-1 if text is None else numbers[text] for text in texts], dtype=np.int64), names

    def _split_nodes(self, labels: IntArray) -> dict[str, IntArray]:
        if self.split is None:
            return {"train": np.flatnonzero(labels >= 0)}
        if len(self.split) != len(self.ids):
            raise DataError(
                f"{self.name}: expected one entry of the split per node, {len(self.ids)}, got {len(self.split)}"
            )
        split = np.array(self.split, dtype=object)
        wrong = next((text for text in dict.fromkeys(self.split) if text not in (*SPLITS, "")), None)
        if wrong is not None:
            raise DataError(f"{self.name}: split {checks.shown(wrong)}: expected {', '.join(SPLITS)} or nothing")
        unlabelled = np.flatnonzero((split != "") & (labels < 0))
        if len(unlabelled):
            first = unlabelled[0]
            raise DataError(
                f"{self.name}: node {checks.shown(self.ids[first])} is in the {split[first]} set and has no label "
                f"({len(unlabelled)} such nodes)"
            )
        return {name: np.flatnonzero(split == name) for name in SPLITS}

    def _ordered_features(self, order: IntArray) -> tuple[Any, tuple[str, ...]]:
        if self.features is None:
            return np.empty((len(order), 0), dtype=np.float32), ()
        features: Any = self.features
        if sp.issparse(features):
            features = checks.checked_csr(features)
        else:
            features = checks.native(checks.as_array(features, "features"))
        checks.check_feature_shape(features.shape, len(order))
        checks.check_number_kind(features.dtype)
        if self.feature_names is None:
            return features[order], ()
        names = checks.checked_names(self.feature_names, "feature", features.shape[1])
        columns = natural_order(names)
        return features[order][:, columns], tuple(names[column] for column in columns)


def numbered_features(count: int) -> tuple[str, ...]:
    """Names for features that have none: f0, f1, ..."""
    return tuple(f"f{place}" for place in range(count))


def _with_structural(
    features: Any, feature_names: tuple[str, ...], adjacency: SparseStructure, nodes: list[str], kinds: Sequence[str]
) -> tuple[Any, tuple[str, ...]]:
    names = structural_names(adjacency, nodes, kinds)
    made = structural_features(adjacency, nodes, names)
    every = (*(feature_names or numbered_features(features.shape[1])), *names)
    order = natural_order(every)  # that of the same graph after writing and reading
    return sp.hstack([sp.csr_matrix(features), made]).tocsr()[:, order], tuple(every[column] for column in order)


def raw_from_graph(graph: Graph) -> RawGraph:
    """The input that gives this graph, with every edge once."""
    structure = graph.neighbours
    source, target = structure.indices.numpy(), structure.rows.numpy()
    features = graph.features
    return RawGraph(
        graph.name,
        graph.node_names,
        np.stack([source, target], axis=1)[source < target],
        features.to_scipy() if isinstance(features, SparseMatrix) else features.numpy(),
        graph.feature_names or None,
        [None if number < 0 else graph.class_names[number] for number in graph.labels.tolist()],
        graph.split_names(),
        graph.class_names,
        graph.reader_notices,
        edge_weight=None if graph.edge_weight is None else graph.neighbour_weights.values.numpy()[source < target],
    )


def natural_order(texts: Sequence[str]) -> IntArray:
    """The positions of the texts in order; runs of digits count as numbers, so that n2 comes before n10."""
    numbers = _numbered(texts)
    if numbers is not None:
        return np.argsort(numbers, kind="stable")
    return np.array(sorted(range(len(texts)), key=lambda position: natural_key(texts[position])), dtype=np.int64)


def _numbered(texts: Sequence[str]) -> IntArray | None:
    """The numbers of texts that are one prefix and a number each, as ids often are."""
    prefix = texts[0].rstrip("0123456789") if len(texts) else ""
    ends = [text[len(prefix) :] for text in texts if text.startswith(prefix)]
    joined = "".join(ends)
    if len(ends) < len(texts) or not (joined.isascii() and joined.isdecimal()):
        return None
    if any(not end or len(end) > MOST_DIGITS or (end[0] == "0" and end != "0") for end in ends):
        return None
    return np.array(ends, dtype=np.int64)


def natural_key(text: str) -> tuple[list[tuple[bool, int, str]], str]:
    """The key of natural order; the text itself is last, so that 01 and 1 are ordered too."""
    pieces = _DIGITS.split(text)  # other characters and runs of digits in turn
    return [_piece_key(piece, is_number=bool(place % 2)) for place, piece in enumerate(pieces) if piece], text


def _piece_key(piece: str, *, is_number: bool) -> tuple[bool, int, str]:
    digits = piece.lstrip("0")
    return (False, len(digits), digits) if is_number else (True, 0, piece)


def _compact(features: Any) -> Any:
    """Sparse where few values are not zero, else dense, for either kind of input."""
    if sp.issparse(features):
        kept = features.tocsr().copy()
        kept.sum_duplicates()
        kept.eliminate_zeros()
        used = kept.nnz
    else:
        used = np.count_nonzero(features)
        kept = features
    sparse = used < SPARSE_BELOW * features.shape[0] * features.shape[1]
    if sparse:
        return sp.csr_matrix(kept)
    return kept.toarray() if sp.issparse(kept) else kept
