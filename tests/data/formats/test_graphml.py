"""GraphML as other programs write it; what a graph has no place for is refused with its line."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats import graphml
from confgcn.data.formats.graphml import ID_COLUMN, graphml_bytes, read_graphml
from confgcn.data.formats.node_columns import NodeColumns
from confgcn.data.formats.table import TableOptions
from confgcn.exceptions import DataError, UnsafeFileError, UsageError

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
KEYS = (
    '<key id="d0" for="node" attr.name="size" attr.type="double"><default>1</default></key>\n'
    '<key id="d1" for="node" attr.name="label" attr.type="string"/>\n'
)
NODES = '<node id="a"><data key="d0">2.5</data><data key="d1">x</data></node>\n<node id="b"/>\n'
EDGES = '<edge source="a" target="b"/>\n'


def saved(folder: Path, *, keys: str = KEYS, nodes: str = NODES, edges: str = EDGES, head: str = HEAD) -> Path:
    path = folder / "small.graphml"
    path.write_text(f'{head}{keys}<graph edgedefault="undirected">\n{nodes}{edges}</graph></graphml>\n')
    return path


def test_values_of_nodes_are_columns_and_defaults_fill_gaps(tmp_path: Path) -> None:
    raw = read_graphml(saved(tmp_path))
    assert (raw.name, list(raw.ids), raw.edges.tolist()) == ("small", ["a", "b"], [[0, 1]])
    assert raw.feature_names == ["size"]
    assert raw.features.tolist() == [[2.5], [1]]
    assert raw.labels == ["x", None]


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    packed = tmp_path / "small.graphml.gz"
    packed.write_bytes(gzip.compress(saved(tmp_path).read_bytes()))
    assert list(read_graphml(packed).ids) == ["a", "b"]


def test_a_file_without_namespace_is_read(tmp_path: Path) -> None:
    assert list(read_graphml(saved(tmp_path, head="<graphml>")).ids) == ["a", "b"]


def test_what_networkx_writes_is_read(tmp_path: Path) -> None:
    graph = nx.Graph([("a", "b"), ("b", 'c"<&>\n')])
    for place, node in enumerate(graph):
        graph.add_node(node, size=1 if place else 0.5, label=f"l{place}", split="train", flag=bool(place))
    nx.write_graphml(graph, tmp_path / "nx.graphml")
    raw = read_graphml(tmp_path / "nx.graphml")
    assert list(raw.ids) == ["a", "b", 'c"<&>\n']
    assert raw.labels == ["l0", "l1", "l2"]
    assert raw.split == ["train"] * 3
    assert raw.feature_names == ["size", "flag"]
    assert raw.features.tolist() == [[0.5, 0], [1, 1], [1, 1]]


def test_what_gephi_writes_is_read(tmp_path: Path) -> None:
    gephi = (
        '<key attr.name="label" attr.type="string" for="node" id="label"/>\n'
        '<key attr.name="Edge Label" attr.type="string" for="edge" id="edgelabel"/>\n'
        '<key attr.name="weight" attr.type="double" for="edge" id="weight"/>\n'
        '<key attr.name="y" attr.type="float" for="node" id="y"/>\n'
        '<key attr.name="kind" attr.type="string" for="node" id="v_kind"/>\n'
    )
    nodes = "".join(
        f'<node id="{i}">\n<data key="label">N{i}</data><data key="v_kind">k</data><data key="y">0.5</data></node>\n'
        for i in range(2)
    )
    path = saved(
        tmp_path, keys=gephi, nodes=nodes, edges='<edge id="0" source="0" target="1"><data key="weight">1</data></edge>'
    )
    with pytest.raises(DataError, match=r"--ignore weight"):
        read_graphml(path, TableOptions(label="kind"))
    with pytest.raises(DataError, match=r"label, y could each be the column of the label"):
        read_graphml(path, TableOptions(ignore=("weight",)))
    raw = read_graphml(path, TableOptions(label="kind", ignore=("weight", "Edge Label", "label")))
    assert raw.labels == ["k", "k"]
    assert raw.feature_names == ["y"]


def test_an_attribute_called_id_is_no_id(tmp_path: Path) -> None:
    keys = '<key id="d0" for="node" attr.name="id"/>'
    raw = read_graphml(
        saved(
            tmp_path,
            keys=keys,
            nodes='<node id="a"><data key="d0">5</data></node><node id="b"><data key="d0">6</data></node>',
        )
    )
    assert list(raw.ids) == ["a", "b"]
    assert raw.feature_names == ["id"]


def test_values_of_the_graph_itself_and_ignored_ones_may_hold_anything(tmp_path: Path) -> None:
    keys = KEYS + '<key id="g" for="node" yfiles.type="nodegraphics"/>'
    nodes = '<data key="x"><y:anything xmlns:y="urn:y"><node/></y:anything></data>' + NODES.replace(
        '<node id="b"/>', '<node id="b"><data key="g"><y:shape xmlns:y="urn:y"><port/></y:shape></data></node>'
    )
    path = saved(tmp_path, keys=keys, nodes=nodes)
    with pytest.raises(DataError, match=r"line \d+: a value that holds elements \(shape\).*--ignore"):
        read_graphml(path)
    assert list(read_graphml(path, TableOptions(ignore=("g",))).ids) == ["a", "b"]


def test_s05_a_document_type_is_refused_before_anything_expands(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE g [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<graphml>'
    with pytest.raises(UnsafeFileError, match=r"small\.graphml, line 1: has a document type declaration"):
        read_graphml(saved(tmp_path, head=bomb))
    outside = f'<!DOCTYPE g [<!ENTITY a SYSTEM "file://{tmp_path}/secret">]>\n<graphml>'
    with pytest.raises(UnsafeFileError, match="document type"):
        read_graphml(saved(tmp_path, head=outside))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"nodes": '<node id="a">\n'}, r"line \d+: not well-formed XML \(mismatched tag\)", id="open tag"),
        pytest.param({"head": '<?xml version="1.0" encoding="UTG-8"?><graphml>'}, "unknown encoding", id="encoding"),
        pytest.param({"head": '<?xml version="1.0" encoding="gbk"?><graphml>'}, "as UTF-8", id="two-byte encoding"),
        pytest.param({"edges": "<hyperedge/>"}, "line 8: hyperedges are not supported", id="hyperedge"),
        pytest.param({"nodes": '<node id="a"><port name="p"/></node>'}, "line 6: ports are not", id="port"),
        pytest.param({"edges": '<edge source="a" target="b" sourceport="p"/>'}, "ports are not", id="edge at a port"),
        pytest.param({"nodes": '<node id="a"><graph/></node>'}, "line 6: a second graph, or", id="nested"),
        pytest.param({"edges": '</graph><graph edgedefault="directed">'}, "a second graph", id="two graphs"),
        pytest.param({"nodes": "<node/>"}, "line 6: the element node has no attribute id", id="no id"),
        pytest.param(
            {"edges": '<edge source="a"/>'}, "line 8: the element edge has no attribute target", id="no target"
        ),
        pytest.param({"edges": '<edge source="a" target="z"/>'}, r"line 8: node 'z' is not in", id="E15 unknown end"),
        pytest.param({"nodes": '<node id="a"/>\n<node id="a"/>\n'}, "line 7: id 'a' is already in line 6", id="twice"),
        pytest.param({"keys": ""}, "key 'd0' is not declared", id="undeclared"),
        pytest.param(
            {"nodes": '<node id="a"><data key="d0">1</data><data key="d0">2</data></node>'},
            "two values for 'size'",
            id="two values",
        ),
        pytest.param({"edges": ""}, "no edges", id="G04 no edges"),
    ],
)
def test_what_is_no_graph_of_ours_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=rf"small\.graphml.*{words}"):
        read_graphml(saved(tmp_path, **change))


def test_another_kind_of_xml_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.graphml").write_text("<gexf></gexf>")
    with pytest.raises(DataError, match="line 1: expected GraphML, found the element gexf"):
        read_graphml(tmp_path / "x.graphml")
    (tmp_path / "x.graphml").write_text("<graphml></graphml>")
    with pytest.raises(DataError, match="no element graph"):
        read_graphml(tmp_path / "x.graphml")


def test_options_of_tables_that_mean_nothing_here_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--source, --target, --id are for tables"):
        read_graphml(saved(tmp_path), TableOptions(source="a"))
    with pytest.raises(UsageError, match=r"unknown key of small\.graphml 'sise': did you mean 'size'"):
        read_graphml(saved(tmp_path), TableOptions(ignore=("sise",)))


def test_many_keys_on_many_nodes_are_refused_before_they_take_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A default of every key is a cell of every node: a small file could ask for all of the memory."""
    keys = "".join(f'<key id="k{n}" for="node" attr.name="k{n}"><default>1</default></key>\n' for n in range(50))
    nodes = "".join(f'<node id="n{n}"/>\n' for n in range(50))
    path = saved(tmp_path, keys=keys, nodes=nodes, edges='<edge source="n0" target="n1"/>\n')
    assert read_graphml(path).features.shape == (50, 50)
    monkeypatch.setattr(graphml, "MAX_BYTES", 50 * 50 * graphml.CELL_BYTES)
    with pytest.raises(DataError, match="50 nodes or edges with 51 keys take more than 20,000 bytes; leave keys out"):
        read_graphml(path)


@pytest.mark.parametrize(
    "change",
    [
        {"head": "<" + "x" * 3000 + ">"},
        {"nodes": '<node id="a"><data key="d0"><' + "x" * 3000 + "/></data></node>"},
        {"nodes": f'<node id="a"><data key="{"x" * 3000}">1</data></node>'},
        {"edges": f'<edge source="a" target="{"x" * 3000}"/>'},
    ],
    ids=["element", "element in a value", "key", "end"],
)
def test_long_names_in_messages_are_shortened(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"line \d.*x{40}") as raised:
        read_graphml(saved(tmp_path, **change))
    assert len(str(raised.value)) < 600


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
