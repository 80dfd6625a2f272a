"""Graph: an undirected graph with features, labels and a split, as one immutable value.

Messages flow source -> target. Edges are stored as a compressed sparse row matrix by target, in both directions and
with exactly one self loop per node (the paper's N(v) contains v).
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.exceptions import DataError
from confgcn.graph import validation as checks
from confgcn.graph.adjacency import EdgeCounts, symmetric_adjacency, symmetric_weights
from confgcn.graph.fingerprint import fingerprint_of
from confgcn.graph.notices import edge_notices, feature_notices, has_no_features, label_notices
from confgcn.graph.receptive_field import ReceptiveField
from confgcn.graph.sample import Sample
from confgcn.graph.shard import Shard
from confgcn.io.blocks import blocks_of_entries
from confgcn.ops import Halo
from confgcn.sparse import SparseMatrix, SparseStructure

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An undirected graph with features, labels and a split. Make one with :meth:`build`.

    Shapes: ``adjacency`` (N, N) with E entries; ``edge_weight`` (E,) in their order, or None for one each: symmetric,
    not negative, one at self loops; ``features`` (N, F); ``labels`` (N,), -1 = unknown; ``train``,
    ``validation``, ``test``: sorted positions of nodes; ``node_ids`` (N,): the row of each node in tables of per-node
    parameters. ``feature_names`` is empty where columns are identified by position only; ``reader_notices`` are the
    notices of the reader of the graph's files. Tensors may be memory-mapped (``confgcn.data.formats.store``) and
    larger than memory, so the methods here read them in blocks.

    A graph with a ``shard`` is one of several shards: ``adjacency`` is (N, N + H) with all edges into its N own nodes,
    from these and from H nodes of other shards; ``node_ids`` are rows of the shard's own parameters.

    A graph with a ``sample`` (``confgcn.graph.sampling``) is a batch: it holds some edges into some nodes, not always
    in both directions; the ``edge_weight`` of a sampled edge includes the edges that it represents; ``train`` are the
    training nodes of the batch.
    """

    name: str
    adjacency: SparseStructure
    features: Tensor | SparseMatrix
    labels: Tensor
    train: Tensor
    validation: Tensor
    test: Tensor
    node_ids: Tensor
    node_names: Sequence[str]
    class_names: tuple[str, ...]
    edge_counts: EdgeCounts
    feature_names: tuple[str, ...] = ()
    reader_notices: tuple[str, ...] = ()
    shard: Shard | None = None
    sample: Sample | None = None
    edge_weight: Tensor | None = None

    def __post_init__(self) -> None:
        rows = {"features": self.features.shape[0], "labels": len(self.labels), "node ids": len(self.node_ids)}
        for name, count in {**rows, "node names": len(self.node_names)}.items():
            if count != self.num_nodes:
                raise DataError(f"{name}: expected one per node, {self.num_nodes}, got {count}")
        if self.edge_weight is not None and self.edge_weight.shape != (self.adjacency.num_entries,):
            expected, got = (self.adjacency.num_entries,), tuple(self.edge_weight.shape)
            raise DataError(f"edge_weight: expected one per entry of the adjacency, shape {expected}, got {got}")

    @classmethod
    def build(
        cls,
        edges: Any,
        features: Any,
        labels: Any,
        *,
        edge_weight: Any = None,
        train: Any = (),
        validation: Any = (),
        test: Any = (),
        node_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "graph",
    ) -> Graph:
        """Check raw arrays and put them in canonical form.

        ``edges`` (M, 2) holds positions of nodes (source, target); direction, order and repetition do not matter.
        ``edge_weight`` (M,) are their weights, finite and not negative, the same in both directions (None: all one).
        ``features`` is an array or a scipy sparse matrix; ``train``, ``validation``, ``test`` are masks or positions.
        """
        if features is None:
            raise DataError("features: there are none; pass an array, for example numpy.eye(number of nodes)")
        shape = features.shape if hasattr(features, "shape") else checks.as_array(features, "features").shape
        num_nodes = int(shape[0]) if shape else 0
        if num_nodes == 0:
            raise DataError("the graph has no nodes (features have no rows)")
        label_array = checks.checked_labels(labels, num_nodes, None if class_names is None else len(class_names))
        num_classes = int(label_array.max(initial=-1)) + 1 if class_names is None else len(class_names)
        given = {"train": train, "validation": validation, "test": test}
        splits = {split: checks.checked_split(nodes, split, label_array) for split, nodes in given.items()}
        checks.check_disjoint(splits)
        pairs = checks.checked_edges(edges, num_nodes)
        adjacency, counts = symmetric_adjacency(pairs, num_nodes)
        weights = None if edge_weight is None else checks.checked_edge_weights(edge_weight, len(pairs))
        return cls(
            name=name,
            adjacency=adjacency,
            features=checks.checked_features(features, num_nodes),
            labels=torch.from_numpy(label_array),
            train=torch.from_numpy(splits["train"]),
            validation=torch.from_numpy(splits["validation"]),
            test=torch.from_numpy(splits["test"]),
            node_ids=torch.arange(num_nodes),
            node_names=checks.checked_names(node_names, "node", num_nodes),
            class_names=checks.checked_names(class_names, "class", num_classes),
            edge_counts=counts,
            edge_weight=None if weights is None else symmetric_weights(adjacency, pairs, weights),
        )

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}={count}" for name, count in self._sizes().items())
        return f"Graph({self.name!r}, {sizes})"

    def _repr_html_(self) -> str:
        """The graph in a notebook."""
        rows = "".join(f"<tr><th>{name}</th><td>{count:,}</td></tr>" for name, count in self._sizes().items())
        notices = "".join(f"<li>{html.escape(text)}</li>" for text in self.notices())
        return f"<b>{html.escape(self.name)}</b><table>{rows}</table><ul>{notices}</ul>"

    def _sizes(self) -> dict[str, int]:
        names = ("nodes", "edges", "features", "classes", *SPLITS)
        splits = (len(getattr(self, split)) for split in SPLITS)
        counts = (self.num_nodes, self.edge_counts.unique, self.num_features, self.num_classes, *splits)
        return dict(zip(names, counts, strict=True))

    @property
    def num_nodes(self) -> int:
        return self.adjacency.shape[0]

    @property
    def num_features(self) -> int:
        return self.features.shape[1]

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    @property
    def device(self) -> torch.device:
        return self.labels.device

    def to(self, device: torch.device | str) -> Graph:
        """The same graph with its tensors on this device."""
        device = torch.device(device)
        if device == self.device:
            return self
        if device.type == "cpu" and self._host is not None:
            return self._host
        moved = replace(
            self,
            adjacency=self.adjacency.to(device),
            features=self.features.to(device),
            **{name: getattr(self, name).to(device) for name in ("labels", "node_ids", *SPLITS)},
            edge_weight=None if self.edge_weight is None else self.edge_weight.to(device),
            sample=None if self.sample is None else self.sample.to(device),
        )
        moved.__dict__["_host"] = self if self.device.type == "cpu" else self._host
        return moved

    @cached_property
    def _host(self) -> Graph | None:
        """The graph on the CPU that this one is a copy of, where it is one."""
        return None

    @property
    def halo(self) -> Halo | None:
        """The exchange of rows with other shards; None if the graph is not sharded."""
        return None if self.shard is None else self.shard.halo

    def sum_over_shards(self, numbers: Tensor) -> Tensor:
        """The sum of these numbers over all shards; the numbers themselves if the graph is not sharded."""
        return numbers if self.shard is None else self.shard.halo.all_reduce(numbers)

    @cached_property
    def batch_nodes(self) -> Tensor | None:
        """The rows that have terms in the loss; None for all."""
        return None if self.sample is None else torch.arange(self.sample.batch_size, device=self.device)

    @property
    def batch_node_rows(self) -> Tensor | slice:
        """:attr:`node_rows` of the batch nodes."""
        rows, sample = self.node_rows, self.sample
        if sample is None:
            return rows
        return (
            slice(rows.start, rows.start + sample.batch_size) if isinstance(rows, slice) else rows[: sample.batch_size]
        )

    @property
    def labelled(self) -> Tensor:
        """The rows with a training label, in a sample also those outside the batch."""
        return self.train if self.sample is None else self.sample.labelled

    @property
    def num_nodes_in_mean(self) -> int:
        """The number of nodes that a mean over nodes divides by: in a sample that of the graph it is drawn from."""
        return self.num_nodes if self.sample is None else self.sample.num_nodes

    @property
    def num_train_in_mean(self) -> int:
        """The number of training nodes that a mean over training nodes divides by."""
        return len(self.train) if self.sample is None else self.sample.num_train

    @cached_property
    def degrees(self) -> Tensor:
        """Number of neighbours of each node, without itself, (N,)."""
        return self.adjacency.indptr[1:] - self.adjacency.indptr[:-1] - 1

    @property
    def neighbours(self) -> SparseStructure:
        """The adjacency without self loops."""
        return self.adjacency.without_diagonal[0]

    @property
    def neighbour_weights(self) -> SparseMatrix:
        """The weight of every edge, in double precision, without self loops."""
        structure, entries = self.adjacency.without_diagonal
        return (
            structure.with_ones()
            if self.edge_weight is None
            else SparseMatrix(structure, self.edge_weight[entries].double())
        )

    def edge_blocks(self) -> Iterator[tuple[checks.IntArray, checks.IntArray]]:
        """Sources and targets of every undirected edge once, without self loops, in blocks."""
        indptr, indices = self.adjacency.indptr.numpy(), self.adjacency.indices.numpy()
        for rows in blocks_of_entries(indptr):
            source = indices[indptr[rows.start] : indptr[rows.stop]]
            target = np.repeat(np.arange(rows.start, rows.stop), np.diff(indptr[rows.start : rows.stop + 1]))
            once = source < target
            yield source[once], target[once]

    @cached_property
    def is_uninformative(self) -> Tensor:
        """Whether a node has no neighbour, no feature other than zero and no training label, (N,)."""
        with torch.inference_mode(False):
            uninformative = (self.degrees == 0) & has_no_features(self.features)
            return uninformative.index_fill(0, self.train, False)

    @cached_property
    def node_rows(self) -> Tensor | slice:
        """Rows of the nodes in a table indexed by node id; a slice where they are consecutive."""
        if self._host is not None:
            rows = self._host.node_rows
            return rows if isinstance(rows, slice) else rows.to(self.device)
        first = int(self.node_ids[0])
        consecutive = torch.arange(first, first + self.num_nodes, device=self.device)
        is_consecutive = torch.equal(self.node_ids, consecutive)
        return slice(first, first + self.num_nodes) if is_consecutive else self.node_ids

    def receptive_field(self, nodes: Tensor | None, *, depth: int) -> ReceptiveField:
        """The features and edges that ``depth`` layers read to predict these nodes (None: all).

        Fields of ``self.train``, ``self.validation`` and ``self.test`` are cached.
        """
        split = next((name for name in SPLITS if getattr(self, name) is nodes), "")
        field = self._receptive_fields.get((split, depth))
        if field is None:
            with torch.inference_mode(False):  # cached tensors are used in training too
                field = self._find_receptive_field(nodes, split, depth)
            if split:
                self._receptive_fields[split, depth] = field
        return field

    def _find_receptive_field(self, nodes: Tensor | None, split: str, depth: int) -> ReceptiveField:
        host = self._host
        if host is None or not split:
            return ReceptiveField.find(self.adjacency, self.features, nodes, depth=depth)
        field = host.receptive_field(getattr(host, split), depth=depth)
        features = self.features if field.features is host.features else field.features.to(self.device)
        edges = None if field.edges is None else field.edges.to(self.device)
        return ReceptiveField(nodes, edges, features, tuple(hop.to(self.device) for hop in field.hops))

    @cached_property
    def _receptive_fields(self) -> dict[tuple[str, int], ReceptiveField]:
        return {}

    @cached_property
    def train_one_hot(self) -> Tensor:
        """One-hot labels of the training nodes, (train, C)."""
        with torch.inference_mode(False):
            return functional.one_hot(self.train_labels, self.num_classes).to(torch.get_default_dtype())

    @cached_property
    def train_labels(self) -> Tensor:
        """The labels of the training nodes, (train,)."""
        with torch.inference_mode(False):
            return self.labels[self.train]

    def training_view(self) -> Graph:
        """The graph as a method may see it: every label outside the training set is hidden."""
        hidden = torch.full_like(self.labels, -1)
        hidden[self.train] = self.labels[self.train]
        return replace(self, labels=hidden)

    def with_features(self, features: Tensor | SparseMatrix) -> Graph:
        """The same graph with other features."""
        return replace(self, features=features)

    def split_names(self, nodes: Tensor | None = None) -> list[str]:
        """The split of each of these nodes (None: all): "train", "validation", "test" or ""."""
        names = np.full(self.num_nodes, "", dtype=object)
        for split in SPLITS:
            names[getattr(self, split).numpy()] = split
        return list(names if nodes is None else names[nodes.numpy()])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything a result can depend on."""
        return fingerprint_of(self)

    def notices(self) -> list[str]:
        """Properties of the data that a user should know about, as sentences."""
        return [*self.reader_notices, *edge_notices(self), *feature_notices(self), *label_notices(self)]
