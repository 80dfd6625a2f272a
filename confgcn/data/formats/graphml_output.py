"""A graph as GraphML: ids, labels, split and features as values of nodes.

Where features are sparse, zero is the default of a feature and left out; not every program looks at defaults, so that
dense features are written in full.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import scipy.sparse as sp

from confgcn.data.formats.graphml import ID_COLUMN
from confgcn.data.formats.node_columns import NodeColumns
from confgcn.data.formats.table import column_texts
from confgcn.exceptions import DataError
from confgcn.graph.checks import shown

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML 1.0


def graphml_bytes(columns: NodeColumns, edges: Sequence[tuple[str, str]]) -> bytes:
    """The graph as GraphML that is read back to the same graph."""
    _check_characters(columns)
    if ID_COLUMN in columns.feature_names:
        raise DataError(f"feature {ID_COLUMN!r}: GraphML is read with this name for the ids; write an .npz file")
    return "\n".join([*_head(columns), *_nodes(columns), *_edges(edges), "</graph>", "</graphml>", ""]).encode()


def _head(columns: NodeColumns) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<graphml xmlns="{NAMESPACE}">'
    for name in columns.texts:
        yield f'<key id="{name}" for="node" attr.name="{name}" attr.type="string"/>'
    default = "<default>0</default>" if sp.issparse(columns.features) else ""
    for place, name in enumerate(columns.feature_names):
        yield f'<key id="d{place}" for="node" attr.name={quoteattr(name)} attr.type="double">{default}</key>'
    yield '<graph edgedefault="undirected">'


def _nodes(columns: NodeColumns) -> Iterator[str]:
    features = columns.features
    for row, node in enumerate(columns.ids):
        values = [(name, texts[row]) for name, texts in columns.texts.items() if texts[row]]
        if features is not None:
            values += _feature_values(features[[row]])
        data = "".join(f'<data key="{key}">{_text(value)}</data>' for key, value in values)
        yield f"<node id={quoteattr(node)}>{data}</node>"


def _feature_values(row: Any) -> list[tuple[str, str]]:
    places, values = (row.indices, row.data) if sp.issparse(row) else (range(row.shape[1]), row[0])
    return [(f"d{place}", text) for place, text in zip(places, column_texts(values), strict=True)]


def _edges(edges: Sequence[tuple[str, str]]) -> Iterator[str]:
    for source, target in edges:
        yield f"<edge source={quoteattr(source)} target={quoteattr(target)}/>"


def _text(value: str) -> str:
    return escape(value, {"\r": "&#13;"})


def _check_characters(columns: NodeColumns) -> None:
    kinds = {"id": columns.ids, "feature": columns.feature_names, **columns.texts}
    for kind, texts in kinds.items():
        for text in texts:
            if found := _FORBIDDEN.search(text):
                raise DataError(f"{kind} {shown(text)}: XML has no character {found[0]!r}; write an .npz file")
