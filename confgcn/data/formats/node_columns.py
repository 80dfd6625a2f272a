"""What a graph says of its nodes as the columns that tables and GraphML are written with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from confgcn.data.formats.label_columns import check_label_texts
from confgcn.data.formats.table import ID_NAMES, LABEL_NAMES, SPLIT_NAMES, is_blank, word
from confgcn.data.raw import PARTS, RawGraph, numbered_features
from confgcn.exceptions import DataError
from confgcn.graph import validation as checks

ID, LABEL, SPLIT = ID_NAMES[0], LABEL_NAMES[0], SPLIT_NAMES[0]


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """Checked columns: reading them back gives the same graph.

    Classes are those of the labels, in natural order: an order of their own, and a class that no node has, are kept by
    .npz alone.

    Attributes:
        ids: one per node.
        texts: the columns label and split, where there are any; "" for none.
        features: (N, F) array or csr matrix; None where there are none.
        feature_names: F names.
    """

    ids: Sequence[str]
    texts: dict[str, Sequence[str]]
    features: Any
    feature_names: Sequence[str]


def node_columns(raw: RawGraph) -> NodeColumns:
    """The columns of a graph, if they can be told from each other when they are read."""
    checks.checked_names(raw.ids, "node", len(raw.ids))
    if "" in raw.ids:
        raise DataError(f"{raw.name}: a node's id is empty, which a table cannot hold; write an .npz file")
    texts: dict[str, Sequence[str]] = {}
    if raw.labels is not None:
        texts[LABEL] = _label_column(raw)
    if raw.split is not None:
        texts[SPLIT] = _split_column(raw)
    features = _plain_features(raw)
    names = () if features is None else _feature_names(raw, features.shape[1])
    return NodeColumns(raw.ids, texts, features, names)


def _label_column(raw: RawGraph) -> list[str]:
    labels = list(raw.labels or ())
    if len(labels) != len(raw.ids):
        raise DataError(f"{raw.name}: expected one label per node, {len(raw.ids)}, got {len(labels)}")
    found = list(dict.fromkeys(label for label in labels if label is not None))
    checks.checked_names(found, "class", len(found))
    if any(is_blank(label) for label in found):
        raise DataError(f"{raw.name}: a class has a blank name, which a table reads as unknown; write an .npz file")
    check_label_texts(found, raw.name)
    return [label or "" for label in labels]


def _split_column(raw: RawGraph) -> list[str]:
    split = list(raw.split or ())
    wrong = next((part for part in split if part not in (*PARTS, "")), None)
    if wrong is not None or len(split) != len(raw.ids):
        came = checks.shown(str(wrong))
        raise DataError(f"{raw.name}: split: expected one of {', '.join(PARTS)} or nothing per node, got {came}")
    return split


def _plain_features(raw: RawGraph) -> Any:
    """Features of which every number is written so that it comes back: no duplicates, no halves, no truth values."""
    features = raw.features
    if features is None:
        return None
    checks.checked_features(features, len(raw.ids))
    if sp.issparse(features):
        features = checks.checked_csr(features).copy()
        features.sum_duplicates()
        features.eliminate_zeros()
    else:
        features = checks.native(np.asarray(features))
    kind, size = features.dtype.kind, features.dtype.itemsize
    if kind == "b":
        return features.astype(np.uint8)
    return features.astype(np.float32 if size < 4 else np.float64) if kind == "f" and size not in (4, 8) else features


def _feature_names(raw: RawGraph, count: int) -> Sequence[str]:
    if raw.feature_names is None:
        return numbered_features(count)
    names = checks.checked_names(raw.feature_names, "feature", count)
    taken = {*ID_NAMES, *LABEL_NAMES, *SPLIT_NAMES, ""}
    clash = next((name for name in names if word(name) in taken), None)
    if clash is not None:
        raise DataError(
            f"{raw.name}: a feature is called {checks.shown(clash)}, which a table cannot tell from its columns of "
            "ids, labels and parts; rename it, or write an .npz file"
        )
    return names
