"""Draw training, validation and test nodes with a seed; the same seed gives the same split everywhere.

Only numpy's RandomState gives the same numbers in every version; its newer generators may change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.graph.graph import SPLITS
from confgcn.graph.validation import IntArray


def random_split(graph: Graph, *, seed: int, train: int, validation: int, test: int) -> Graph:
    """Sets of the given sizes, drawn from all labelled nodes without regard to class."""
    shuffled = _shuffled_labelled(graph, seed)
    _check_size(graph, len(shuffled), train + validation + test)
    ends = np.cumsum([train, validation, test])
    return _with_split(graph, *np.split(shuffled[: ends[-1]], ends[:-1]))


def planetoid_split(graph: Graph, *, seed: int, per_class: int = 20, validation: int = 500, test: int = 1000) -> Graph:
    """``per_class`` training nodes of every class, then validation and test nodes from the rest."""
    shuffled = _shuffled_labelled(graph, seed)
    _check_size(graph, len(shuffled), per_class * graph.num_classes + validation + test)
    labels = graph.labels.numpy()[shuffled]
    chosen = [shuffled[labels == c][:per_class] for c in range(graph.num_classes)]
    for name, nodes in zip(graph.class_names, chosen, strict=True):
        if len(nodes) < per_class:
            raise DataError(f"class {name!r} has {len(nodes)} labelled nodes, fewer than {per_class}")
    train = np.concatenate(chosen)
    rest = shuffled[~np.isin(shuffled, train)]
    return _with_split(graph, train, rest[:validation], rest[validation : validation + test])


def hold_out(graph: Graph, *, seed: int, validation: float, test: float) -> Graph:
    """Move shares of the training nodes of every class to validation and test; each class keeps at least one."""
    labels, train = graph.labels.numpy(), graph.train.numpy()
    if not len(train):
        return graph  # training refuses it
    shuffled = np.random.RandomState(seed).permutation(train)
    drawn: dict[str, list[IntArray]] = {split: [] for split in SPLITS}
    for c in np.unique(labels[train]):
        members = shuffled[labels[shuffled] == c]
        most = len(members) - 1
        ends = np.minimum(np.cumsum([round(test * len(members)), round(validation * len(members))]), most)
        for split, nodes in zip(("test", "validation", "train"), np.split(members, ends), strict=True):
            drawn[split].append(nodes)
    new = _with_split(graph, *(np.concatenate(drawn[split]) for split in SPLITS))
    for name, share, drawn_nodes in (("validation", validation, new.validation), ("test", test, new.test)):
        if share and not len(drawn_nodes):
            raise DataError(f"{graph.name}: a {name} share of {share} of {len(train)} labels is no node; increase it")
    return new


def _shuffled_labelled(graph: Graph, seed: int) -> IntArray:
    labelled = np.flatnonzero(graph.labels.numpy() >= 0)
    return np.random.RandomState(seed).permutation(labelled)


def _check_size(graph: Graph, available: int, wanted: int) -> None:
    if available < wanted:
        raise DataError(f"{graph.name}: the split needs {wanted} labelled nodes, there are {available}")


def _with_split(graph: Graph, *nodes: IntArray) -> Graph:
    train, validation, test = (torch.from_numpy(np.sort(split)) for split in nodes)
    return replace(graph, train=train, validation=validation, test=test)
