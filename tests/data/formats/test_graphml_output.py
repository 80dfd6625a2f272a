"""GraphML is written with zeros as defaults, and every letter so that it comes back."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats.graphml import ID_COLUMN, graphml_bytes
from confgcn.data.formats.node_columns import NodeColumns
from confgcn.exceptions import DataError


def columns_of(features: Any, names: tuple[str, ...] = ("p", "q")) -> NodeColumns:
    return NodeColumns(["a\n", "b"], {"label": ["<x>\r", ""]}, features, names)


NUMBERS = np.array([[0.5, 0.0], [-0.0, 2.0]])


def test_zeros_of_sparse_features_are_left_to_the_default() -> None:
    text = graphml_bytes(columns_of(sp.csr_matrix(NUMBERS)), [("a\n", "b")]).decode()
    assert '<node id="a&#10;"><data key="label">&lt;x&gt;&#13;</data><data key="d0">0.5</data></node>' in text
    assert '<node id="b"><data key="d1">2</data></node>' in text
    assert text.count("<default>0</default>") == 2


def test_dense_features_are_written_in_full() -> None:
    text = graphml_bytes(columns_of(NUMBERS), []).decode()
    assert '<node id="b"><data key="d0">-0</data><data key="d1">2</data></node>' in text
    assert "<default>" not in text


def test_networkx_reads_it() -> None:
    graph = nx.parse_graphml(graphml_bytes(columns_of(NUMBERS), [("a\n", "b")]).decode())
    assert list(graph.edges) == [("a\n", "b")]
    assert graph.nodes["b"] == {"p": 0.0, "q": 2.0}


def test_the_name_that_ids_are_read_by_is_taken() -> None:
    with pytest.raises(DataError, match=rf"feature '{ID_COLUMN}'"):
        graphml_bytes(columns_of(np.eye(2), ("p", ID_COLUMN)), [])
