"""What is said of a graph before training, in words."""

from __future__ import annotations

import numpy as np

from confgcn.data.inspection import inspection_notices
from confgcn.data.raw import RawGraph
from confgcn.data.statistics import describe
from confgcn.graph import Graph


def said(graph: Graph) -> tuple[list[str], list[str]]:
    found = inspection_notices(graph, describe(graph))
    return [f.text for f in found if not f.is_warning], [f.text for f in found if f.is_warning]


def graph_of(labels: list[str | None], edges: list[tuple[int, int]], **more: object) -> Graph:
    features = np.arange(2.0 * len(labels)).reshape(-1, 2)
    ids = [f"n{node}" for node in range(len(labels))]
    return RawGraph("mine", ids, np.array(edges), features, labels=labels, **more).build()


def test_the_graph_is_summed_up_in_words() -> None:
    plain, _ = said(graph_of(["a", "b", None, "a"], [(0, 1), (0, 3), (2, 3)]))
    assert plain[0] == "mine: 4 nodes, 3 edges, 2 features, 2 classes (a, b)"
    assert plain[1] == "3 nodes have a label (75.0%), 1 are to be predicted"
    assert "accuracy is measured by cross-validation" in plain[2]
    assert plain[3] == "50% of the edges between labelled nodes join equal labels"


def test_what_will_cost_accuracy_is_warned_of() -> None:
    _, warnings = said(graph_of(["a", "b", None, "b", None], [(0, 1), (0, 3), (1, 1), (0, 1)]))
    text = "\n".join(warnings)
    assert "1 duplicate edges" in text
    assert "1 self loops" in text
    assert "2 isolated nodes" in text
    assert "classes with few labels: a (1), b (2)" in text
    assert "2 of 3 components have no label: predictions for their 2 nodes depend on features alone" in text
    assert "100% of the edges between labelled nodes join different labels" in text


def test_a_graph_without_labels_or_with_one_class_is_told_so() -> None:
    assert any("nothing to learn from" in text for text in said(graph_of([None, None], [(0, 1)]))[1])
    assert any("a single class" in text for text in said(graph_of(["a", "a"], [(0, 1)]))[1])


def test_notices_of_the_reader_are_passed_on() -> None:
    assert "title looks like text" in said(graph_of(["a", "b"], [(0, 1)], notices=("title looks like text",)))[1]


def test_kinds_of_features_are_told() -> None:
    names = ["age", "venue=A", "venue=B"]
    features = np.arange(6.0).reshape(2, 3)
    raw = RawGraph("mine", ["n0", "n1"], np.array([[0, 1]]), features, names, ["a", "b"])
    plain, _ = said(raw.build(["degree"]))
    assert "features: 1 numbers, 1 categories (venue with 2 values), 1 computed from the edges" in plain
