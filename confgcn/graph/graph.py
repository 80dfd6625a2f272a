"""Graph: the one value that flows through the program.

Messages flow source -> target. Edges are stored once, as a compressed sparse row matrix by target, in both
directions and with exactly one self loop per node (the paper's N(v) contains v).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.exceptions import DataError
from confgcn.graph import checks
from confgcn.graph.receptive_field import ReceptiveField
from confgcn.io.blocks import blocks_of_entries, blocks_of_rows
from confgcn.ops import Halo
from confgcn.sparse import SparseMatrix, SparseStructure

MOST_CLASSES = 10  # that a notice names
NAME_LENGTH = 16  # characters of a node's name, more or less


@dataclass(frozen=True)
class EdgeCounts:
    """What the edge list held before it was made simple and symmetric."""

    listed: int  # entries as they came
    duplicates: int  # entries that repeat an earlier one
    loops: int  # nodes with a self loop
    one_way: int  # edges listed in one direction only
    unique: int  # undirected edges without self loops


@dataclass(frozen=True, eq=False)
class Shard:
    """What a part of a graph knows of the whole, where the other parts are in other processes.

    Shapes: ``nodes`` (N,), sorted: the places of the part's own nodes in the whole, of ``num_all`` nodes; ``borrowed``:
    those of the nodes that it borrows, in the order of its columns.
    """

    halo: Halo
    nodes: Tensor
    borrowed: Tensor
    num_all: int


@dataclass(frozen=True, eq=False)
class Sample:
    """What a sample of a graph knows of the whole, of which ``num_nodes`` and ``num_train`` count all.

    The first ``counted`` rows are the nodes whose terms are in the loss, the others their context.

    Shapes: ``importance`` (E,): for how many edges into its target each of the sample's stands; ``labelled``: the
    places of all training nodes, context included.
    """

    counted: int
    importance: Tensor
    labelled: Tensor
    num_nodes: int
    num_train: int


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected graph with features, labels and a split. Make one with :meth:`build`.

    Shapes: ``adjacency`` (N, N) with E entries; ``features`` (N, F); ``labels`` (N,), -1 = unknown;
    ``train``, ``validation``, ``test``: sorted positions of nodes; ``node_ids`` (N,): global ids, which say
    whose per-node parameters belong to which row, also in a part of a graph. ``feature_names`` is empty where columns
    are known by their place alone; ``remarks`` is what reading the graph has found that a user should know. Tensors may
    be mapped from files (``confgcn.data.formats.graph_store``) and larger than memory: what is asked of them here is
    asked a block at a time.

    A part of a graph whose other parts are elsewhere has a ``shard``: then ``adjacency`` is (N, N + borrowed), rows are
    the part's own nodes with all edges into them, and ``node_ids`` are places among the part's own parameters.

    One with a ``sample`` (``confgcn.graph.sampling``) holds some edges into some nodes, not always both ways; ``train``
    are the counted training nodes.
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
    remarks: tuple[str, ...] = ()
    shard: Shard | None = None
    sample: Sample | None = None

    def __post_init__(self) -> None:
        rows = {"features": self.features.shape[0], "labels": len(self.labels), "node ids": len(self.node_ids)}
        for name, count in {**rows, "node names": len(self.node_names)}.items():
            if count != self.num_nodes:
                raise DataError(f"{name}: expected one per node, {self.num_nodes}, got {count}")

    @classmethod
    def build(
        cls,
        edges: Any,
        features: Any,
        labels: Any,
        *,
        train: Any = (),
        validation: Any = (),
        test: Any = (),
        node_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        name: str = "graph",
    ) -> Graph:
        """Check raw arrays and put them in canonical form.

        ``edges`` (M, 2) holds positions of nodes (source, target); direction, order and repetition do not
        matter. ``features`` is an array or a scipy sparse matrix. Parts of the split are masks or positions.
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
        parts = {part: checks.checked_part(value, part, label_array) for part, value in given.items()}
        checks.check_disjoint(parts)
        adjacency, counts = symmetric_adjacency(checks.checked_edges(edges, num_nodes), num_nodes)
        return cls(
            name=name,
            adjacency=adjacency,
            features=checks.checked_features(features, num_nodes),
            labels=torch.from_numpy(label_array),
            train=torch.from_numpy(parts["train"]),
            validation=torch.from_numpy(parts["validation"]),
            test=torch.from_numpy(parts["test"]),
            node_ids=torch.arange(num_nodes),
            node_names=checks.checked_names(node_names, "node", num_nodes),
            class_names=checks.checked_names(class_names, "class", num_classes),
            edge_counts=counts,
        )

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
    def halo(self) -> Halo | None:
        """What is borrowed of other parts; None where the graph is whole."""
        return None if self.shard is None else self.shard.halo

    def over_all_parts(self, numbers: Tensor) -> Tensor:
        """The sum of what every part gives; of a graph that is whole, what it gives."""
        return numbers if self.shard is None else self.shard.halo.add(numbers)

    @cached_property
    def counted(self) -> Tensor | None:
        """The rows whose terms are in the loss; None for all."""
        return None if self.sample is None else torch.arange(self.sample.counted)

    @property
    def counted_node_rows(self) -> Tensor | slice:
        """Where these stand in a table by node id."""
        rows, sample = self.node_rows, self.sample
        if sample is None:
            return rows
        return slice(rows.start, rows.start + sample.counted) if isinstance(rows, slice) else rows[: sample.counted]

    @property
    def labelled(self) -> Tensor:
        """The rows with a training label; of a sample those that are not counted too."""
        return self.train if self.sample is None else self.sample.labelled

    @property
    def num_in_means(self) -> int:
        """Of how many nodes a loss is the mean: of a sample, all those of the whole."""
        return self.num_nodes if self.sample is None else self.sample.num_nodes

    @property
    def num_train_in_means(self) -> int:
        """Of how many training nodes."""
        return len(self.train) if self.sample is None else self.sample.num_train

    @cached_property
    def degrees(self) -> Tensor:
        """Number of neighbours of each node, itself not counted, (N,)."""
        return self.adjacency.indptr[1:] - self.adjacency.indptr[:-1] - 1

    @property
    def neighbours(self) -> SparseStructure:
        """The adjacency without self loops."""
        return self.adjacency.without_diagonal[0]

    def edge_blocks(self) -> Iterator[tuple[checks.IntArray, checks.IntArray]]:
        """Sources and targets of every undirected edge once, without self loops, a block at a time."""
        indptr, indices = self.adjacency.indptr.numpy(), self.adjacency.indices.numpy()
        for rows in blocks_of_entries(indptr):
            source = indices[indptr[rows.start] : indptr[rows.stop]]
            target = np.repeat(np.arange(rows.start, rows.stop), np.diff(indptr[rows.start : rows.stop + 1]))
            once = source < target
            yield source[once], target[once]

    @cached_property
    def is_blank(self) -> Tensor:
        """Has a node no neighbour, no feature other than zero, and no training label? (N,)"""
        with torch.inference_mode(False):
            blank = (self.degrees == 0) & _has_no_features(self.features)
            return blank.index_fill(0, self.train, False)

    @cached_property
    def node_rows(self) -> Tensor | slice:
        """Where the graph's nodes stand in a table by node id; a slice where they stand in a row."""
        first = int(self.node_ids[0])
        in_a_row = torch.equal(self.node_ids, torch.arange(first, first + self.num_nodes))
        return slice(first, first + self.num_nodes) if in_a_row else self.node_ids

    def receptive_field(self, nodes: Tensor | None, *, depth: int) -> ReceptiveField:
        """What ``depth`` layers read to predict these nodes (None: all); kept for the parts of the split."""
        part = next((name for name in ("train", "validation", "test") if getattr(self, name) is nodes), "")
        field = self._receptive_fields.get((part, depth))
        if field is None:
            with torch.inference_mode(False):  # what is kept serves training too
                field = ReceptiveField.find(self.adjacency, self.features, nodes, depth=depth)
            if part:
                self._receptive_fields[part, depth] = field
        return field

    @cached_property
    def _receptive_fields(self) -> dict[tuple[str, int], ReceptiveField]:
        return {}

    @cached_property
    def train_one_hot(self) -> Tensor:
        """The labels of the training nodes as rows with a single one, (train, C)."""
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
        """For each of these nodes (None: of all) the part of the split it is in, "" for none."""
        names = np.full(self.num_nodes, "", dtype=object)
        for part in ("train", "validation", "test"):
            names[getattr(self, part).numpy()] = part
        return list(names if nodes is None else names[nodes.numpy()])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over everything a result can depend on."""
        features, places = self.features, []
        if isinstance(features, SparseMatrix):
            places = [features.structure.indptr, features.structure.indices]
            features = features.values
        tensors = [self.adjacency.indptr, self.adjacency.indices, features, self.labels, *places]
        tensors += [self.train, self.validation, self.test, self.node_ids]
        digest = hashlib.sha256(f"({bool(places)}, ".encode())
        for piece in _repr_of_tuple(self.node_names):
            digest.update(piece.encode())
        digest.update(f", {self.class_names!r})".encode())
        for tensor in tensors:
            digest.update(repr((tuple(tensor.shape), tensor.dtype)).encode())
            digest.update(tensor.contiguous().view(-1).numpy().data)
        return digest.hexdigest()

    def notices(self) -> list[str]:
        """What a user should know about the data, in plain words."""
        return [
            text
            for text in (*self.remarks, *_edge_notices(self), *_feature_notices(self), *_label_notices(self))
            if text
        ]


def symmetric_adjacency(pairs: checks.IntArray, num_nodes: int) -> tuple[SparseStructure, EdgeCounts]:
    """Both directions of every edge, each once, and one self loop per node, sorted by target then source."""
    source, target = pairs[:, 0], pairs[:, 1]
    listed = distinct(target * num_nodes + source)
    is_loop = listed // num_nodes == listed % num_nodes
    forward = listed[~is_loop]
    backward = (forward % num_nodes) * num_nodes + forward // num_nodes
    both = distinct(np.concatenate([forward, backward]))
    loops = np.arange(num_nodes, dtype=np.int64) * (num_nodes + 1)
    keys = np.sort(np.concatenate([both, loops]))
    counts = EdgeCounts(
        listed=len(pairs),
        duplicates=len(pairs) - len(listed),
        loops=int(is_loop.sum()),
        one_way=len(both) - len(forward),
        unique=len(both) // 2,
    )
    indptr = np.searchsorted(keys, np.arange(num_nodes + 1, dtype=np.int64) * num_nodes)
    structure = SparseStructure(
        torch.from_numpy(indptr.astype(np.int64)),
        torch.from_numpy(keys % num_nodes),
        (num_nodes, num_nodes),
    )
    return structure, counts


def distinct(keys: checks.IntArray) -> checks.IntArray:
    """Sorted, each once; numpy's own way, by hashing, takes several times as long."""
    ordered = np.sort(keys)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def _edge_notices(graph: Graph) -> list[str]:
    counts = graph.edge_counts
    isolated = int((graph.degrees == 0).sum())
    return [
        f"{counts.duplicates} duplicate edges merged" if counts.duplicates else "",
        f"{counts.loops} self loops replaced by the one that every node gets" if counts.loops else "",
        f"{counts.one_way} one-way edges made two-way" if counts.one_way else "",
        f"{isolated} isolated nodes: no neighbour speaks for them" if isolated else "",
    ]


def _feature_notices(graph: Graph) -> list[str]:
    features = graph.features
    if isinstance(features, SparseMatrix):
        constant = int((torch.bincount(features.structure.indices, minlength=graph.num_features) == 0).sum())
    else:
        constant = int(_is_constant(features).sum())
    empty = int(_has_no_features(features).sum())
    return [
        f"{empty} nodes have no feature other than zero" if empty else "",
        f"{constant} feature columns are the same for every node" if constant else "",
    ]


def _has_no_features(features: Tensor | SparseMatrix) -> Tensor:
    """Are all features of a node zero? (N,)"""
    if isinstance(features, SparseMatrix):
        return features.with_values(features.values.abs()).row_sums() == 0
    return torch.cat([(features[rows] == 0).all(1) for rows in blocks_of_rows(*features.shape)])


def _is_constant(features: Tensor) -> Tensor:
    """Is a column the same for every node? (F,)"""
    same = torch.ones(features.shape[1], dtype=torch.bool)
    for rows in blocks_of_rows(*features.shape):
        same &= (features[rows] == features[0]).all(0)
    return same


def _repr_of_tuple(texts: Sequence[str]) -> Iterator[str]:
    """What ``repr`` gives for a tuple of these texts, in pieces: together they may take more than memory."""
    yield "("
    for block in blocks_of_rows(len(texts), width=NAME_LENGTH):
        yield ("" if block.start == 0 else ", ") + ", ".join(map(repr, texts[block]))
    yield ",)" if len(texts) == 1 else ")"


def _label_notices(graph: Graph) -> list[str]:
    if len(graph.train) == graph.num_nodes:
        return [f"all {graph.num_nodes:,} nodes are trained on: nothing is left to predict"]
    present = set(graph.labels[graph.train].unique().tolist())
    asked = set(graph.labels[torch.cat([graph.validation, graph.test])].unique().tolist()) - {-1}
    missing = [graph.class_names[c] for c in sorted(asked - present)]
    if not len(graph.train) or not missing:
        return []
    more = f", ... ({len(missing):,} in all)" if len(missing) > MOST_CLASSES else ""
    return [f"classes without a training label, which cannot be learned: {', '.join(missing[:MOST_CLASSES])}{more}"]
