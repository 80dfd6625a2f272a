"""Graphs with weights or kinds of edges, of no node or two, without edges, with a hub, of matrices that do not fit."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn import ConfGCNClassifier
from confgcn.data.formats.array_files import CSR_KEYS
from confgcn.exceptions import DataError

if TYPE_CHECKING:
    from tests.faults.conftest import Outside, Tables

PAIRS = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (3, 5), (4, 5), (5, 6), (6, 7), (4, 7)]
FEATURES = np.array([[1, 0], [1, 0.5], [0.5, 1], [0.25, 2], [0, 2.5], [0, 2], [0, 3], [0.5, 2]])
LABELS = np.array([0, 0, 0, -1, 1, 1, 1, -1])
LEAVES = 20_000
WITHOUT_VALIDATION = ("--set", "select=last", "--set", "stop=never")
GRAPHML = """<graphml><key id="w" for="edge" attr.name="weight"/><key id="l" for="node" attr.name="label"/>
<graph edgedefault="directed"><node id="a"><data key="l">p</data></node><node id="b"><data key="l">q</data></node>
{edge}</graph></graphml>"""


def adjacency(pairs: Any = PAIRS, num_nodes: int = 8) -> Any:
    """As a matrix of ones; every edge one way."""
    rows, columns = np.array(pairs).T
    return sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(num_nodes, num_nodes))


def archive(matrix: Any, features: Any = FEATURES, labels: Any = LABELS) -> bytes:
    """A graph as an adjacency, features and labels, in the layout of citation graphs."""
    arrays = {"labels": labels}
    for prefix, given in (("adj", matrix), ("attr", features)):
        arrays |= {f"{prefix}_{part}": np.asarray(getattr(sp.csr_matrix(given), part)) for part in CSR_KEYS}
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def probabilities(tables: Tables) -> list[float]:
    return [float(row["probability"]) for row in tables.predictions().values()]


@pytest.mark.fault("E14")
@pytest.mark.parametrize("value", ["-1", "0", "nan", "inf", "heavy", "", "1", "0.5"])
def test_weights_are_refused_whatever_they_are(tables: Tables, value: str) -> None:
    tables.write(
        "edges.csv", "source,target,weight\n" + "".join(f"{row},{value}\n" for row in tables.edges.split()[1:])
    )
    tables.refuses_to_train(naming=["edges.csv: found the columns source, target, weight", "--ignore weight"])


@pytest.mark.fault("E14")
def test_ignored_weights_change_nothing(tables: Tables, plain: tuple[bytes, str]) -> None:
    rows = [f"{row},{place - 3}" for place, row in enumerate(tables.edges.split()[1:])]
    tables.write("edges.csv", "\n".join(["source,target,weight", *rows]))
    tables.train("--ignore", "weight")
    assert tables.result() == plain


@pytest.mark.fault("E14", "E21")
@pytest.mark.parametrize(
    ("edge", "naming"),
    [
        ('<edge source="a" target="b"><data key="w">2</data></edge>', ["found the columns source, target, weight"]),
        ('<hyperedge><endpoint node="a"/><endpoint node="b"/></hyperedge>', ["line 3: hyperedges are not supported"]),
        ('<edge source="a" target="b" sourceport="x"/>', ["line 3: ports are not supported"]),
        ('<edge source="a" target="c"/>', ["line 3: node 'c' is not in graph.graphml"]),
        ('<node id="c"><graph/></node>', ["line 3: a second graph, or a graph inside a node"]),
    ],
    ids=["weights", "hyperedges", "ports", "an unknown node", "graphs in graphs"],
)
def test_graphml_with_unsupported_content_is_refused(outside: Outside, edge: str, naming: list[str]) -> None:
    outside.write("graph.graphml", GRAPHML.format(edge=edge))
    outside.refuses("train", "graph.graphml", "--out", "run", code=3, naming=["graph.graphml", *naming])


@pytest.mark.fault("E14")
@pytest.mark.parametrize("value", [-1.0, 2.5, np.nan, np.inf, 1 + 2j])
def test_weights_in_a_matrix_are_refused(outside: Outside, value: complex) -> None:
    outside.write("graph.npz", archive(adjacency() * value))
    outside.refuses("train", "graph.npz", "--out", "run", code=3, naming=["graph.npz: adjacency", "expected"])


@pytest.mark.fault("E21")
@pytest.mark.parametrize(
    ("header", "extra"),
    [("src,rel,dst", "rel"), ("source,type,target", "type"), ("source,target,time", "time"), ("u,v,layer", "layer")],
)
def test_edges_of_several_kinds_are_refused(tables: Tables, header: str, extra: str) -> None:
    tables.write("edges.csv", f"{header}\na,b,c\n")
    naming = [f"edges.csv: found the columns {header.replace(',', ', ')}", "types of edges", f"--ignore {extra}"]
    tables.refuses_to_train(naming=naming)


@pytest.mark.fault("E17")
def test_a_graph_of_no_nodes_is_refused(tables: Tables) -> None:
    tables.write("nodes.csv", "id,label,width\n")
    tables.refuses_to_train("--allow-edgeless", naming=["nodes.csv: the graph has no nodes"])
    tables.write("edges.csv", "source,target\n")
    tables.refuses_to_train("--allow-edgeless", naming=["nodes.csv: the graph has no nodes"])
    tables.write("empty.npz", archive(sp.csr_matrix((0, 0)), np.empty((0, 2)), LABELS[:0]))
    tables.refuses("train", "empty.npz", "--out", "run", code=3, naming=["empty.npz", "no nodes"])
    tables.write("empty.graphml", "<graphml><graph/></graphml>")
    tables.refuses("train", "empty.graphml", "--out", "run", code=3, naming=["empty.graphml", "no edges"])


@pytest.mark.fault("E18")
@pytest.mark.parametrize(
    ("nodes", "edges", "problem"),
    [
        ("a,p,1\n", "a,a\n", "all training labels are of one class, 'p'"),
        ("a,,1\n", "a,a\n", "no node has a training label"),
        ("a,p,1\nb,,0\n", "a,b\n", "all training labels are of one class, 'p'"),
        ("a,p,1\nb,q,0\n", "a,b\n", "2 labels are too few"),
    ],
)
def test_graphs_that_are_too_small_are_refused(tables: Tables, nodes: str, edges: str, problem: str) -> None:
    tables.write("nodes.csv", f"id,label,width\n{nodes}")
    tables.write("edges.csv", f"source,target\n{edges}")
    tables.refuses_to_train(naming=[problem])


@pytest.mark.fault("E18")
@pytest.mark.parametrize(
    ("method", "edges"),
    [("confgcn", "a,b\n"), ("confgcn", ""), ("confgcn", "a,a\n"), ("gcn", "a,b\n"), ("label_propagation", "a,b\n")],
)
def test_a_graph_of_two_nodes_is_trained(tables: Tables, method: str, edges: str) -> None:
    tables.write("nodes.csv", "id,label,width\na,p,1\nb,q,0\n")
    tables.write("edges.csv", f"source,target\n{edges}")
    tables.train("--allow-edgeless", "--method", method, *WITHOUT_VALIDATION)
    assert all(0.5 <= value <= 1 for value in probabilities(tables))


@pytest.mark.fault("E18")
@pytest.mark.parametrize("method", ["confgcn", "gat"])
def test_a_graph_without_edges_is_trained(tables: Tables, method: str) -> None:
    tables.write("edges.csv", "source,target\n")
    ended = tables.train("--allow-edgeless", "--method", method)
    assert "note: 8 isolated nodes: they have no neighbours" in ended.errors
    assert all(0.5 <= value <= 1 for value in probabilities(tables))


@pytest.mark.fault("E19")
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="there is no /proc to read the memory from")
def test_a_hub_is_read_and_trained_on_in_the_memory_of_a_path(outside: Outside) -> None:
    """With 20,000 leaves, to be quick: as many numbers as nodes times the highest degree would take 1.6 GB.

    With 1,000,000 leaves, once by hand: 3.2 GB for the star, 2.9 GB for the path.
    """
    last = np.arange(1, LEAVES + 1)
    labels = np.where(last <= 40, last % 2, -1)
    peaks = {}
    for shape, first in (("star", np.zeros_like(last)), ("path", last - 1)):
        matrix = adjacency(np.stack([first, last], axis=1), LEAVES + 1)
        outside.write(f"{shape}.npz", archive(matrix, np.ones((LEAVES + 1, 1)), np.append(labels, 0)))
        words = ("train", f"{shape}.npz", "--epochs", 2, "--validation", 0.5, "--out", shape)
        peaks[shape] = outside.start(*words).peak()
    assert 0 < peaks["star"] < 1.25 * peaks["path"]


@pytest.mark.fault("E22")
@pytest.mark.parametrize(
    ("matrix", "features", "shapes"),
    [
        (adjacency()[:, :7], FEATURES, ["(8, 7)", "(8, 2)"]),
        (adjacency()[:7], FEATURES, ["(7, 8)", "(8, 2)"]),
        (adjacency(), FEATURES[:7], ["(8, 8)", "(7, 2)"]),
        (adjacency(num_nodes=9), FEATURES, ["(9, 9)", "(8, 2)"]),
    ],
    ids=["too narrow", "too low", "features missing", "one node more"],
)
def test_matrices_that_do_not_fit_are_refused_with_both_shapes(
    outside: Outside, matrix: Any, features: Any, shapes: list[str]
) -> None:
    outside.write("graph.npz", archive(matrix, features))
    outside.refuses("train", "graph.npz", "--out", "run", code=3, naming=["graph.npz", *shapes])
    for given in (matrix, matrix.toarray()):
        with pytest.raises(DataError) as caught:
            ConfGCNClassifier().fit(given, features, LABELS)
        assert str(features.shape) in str(caught.value)
        assert shapes[0] in str(caught.value) or f"({shapes[0][1]}, at least 1)" in str(caught.value)


@pytest.mark.fault("E22")
@pytest.mark.parametrize("labels", [LABELS[:7], np.append(LABELS, 0), LABELS[:, None]])
def test_labels_that_do_not_fit_are_refused_with_both_shapes(outside: Outside, labels: Any) -> None:
    outside.write("graph.npz", archive(adjacency(), labels=labels))
    naming = ["graph.npz: labels: expected one per node, shape (8,)", f"got {labels.shape}"]
    outside.refuses("train", "graph.npz", "--out", "run", code=3, naming=naming)
