"""Labels and splits that cannot be trained on, or must not be read as something else."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from confgcn import ConfGCNClassifier, Graph, RunRequest, train
from confgcn.data.formats.npz import graph_npz_bytes
from confgcn.data.formats.registry import raw_graph
from confgcn.data.raw import raw_from_graph
from confgcn.data.synthetic import block_model
from confgcn.exceptions import DataError

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

NODES = 12
ALTERNATING = ["ab"[node % 2] for node in range(NODES)]
# Without validation nodes a run needs a recipe that does not ask for any, or ten labels to hold out in turn.
ON_ALL_LABELS = ("--epochs", 2, "--set", "select=last", "--set", "stop=never", "--out", "run")


def write_tables(outside: Outside, labels: Sequence[str], split: Sequence[str] | None = None) -> Path:
    """A ring of twelve nodes with these cells."""
    parts = split or [""] * NODES
    head = ["id", "label", "width", *(["split"] if split else [])]
    rows = [[f"n{i}", labels[i], str(i % 5 + 1), *([parts[i]] if split else [])] for i in range(NODES)]
    outside.write("mine/edges.csv", "source,target\n" + "".join(f"n{i},n{(i + 1) % NODES}\n" for i in range(NODES)))
    path = outside.write("mine/nodes.csv", "")
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([head, *rows])
    return path


def predictions(outside: Outside, run: str = "run") -> list[dict[str, str]]:
    with (outside.folder / run / "predictions.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def inspected(outside: Outside) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outside.accepts("inspect", "mine", "--json").out)
    return found


def warnings_of(found: dict[str, Any]) -> list[str]:
    return [notice["text"] for notice in found["notices"] if notice["is_warning"]]


@pytest.mark.fault("L01")
@pytest.mark.parametrize(
    ("labels", "split", "words", "naming"),
    [
        ([""] * NODES, None, (), ["nodes.csv", "'label'", "blank in every row"]),
        (["\u00a0 "] * NODES, None, (), ["nodes.csv", "'label'", "blank in every row"]),
        (ALTERNATING, ["test"] * NODES, (), ["12 have a label", "the split puts none of them into the training set"]),
        (ALTERNATING, None, ("--ignore", "label"), ["nodes.csv", "no column of labels among id, label", "--label"]),
    ],
)
def test_a_graph_without_training_labels_is_refused(
    outside: Outside, labels: list[str], split: list[str] | None, words: tuple[str, ...], naming: list[str]
) -> None:
    write_tables(outside, labels, split)
    outside.refuses(
        "train", "mine", *ON_ALL_LABELS, *words, code=3, naming=["mine: no node has a training label", *naming]
    )


@pytest.mark.fault("L02")
@pytest.mark.parametrize(
    ("labels", "split"),
    [
        (["a"] * NODES, None),
        (["a"] * 6 + [""] * 6, None),
        (["a"] * 6 + ["b"] * 6, ["train"] * 6 + ["validation"] * 3 + ["test"] * 3),
    ],
)
def test_a_single_class_to_train_on_is_refused(outside: Outside, labels: list[str], split: list[str] | None) -> None:
    write_tables(outside, labels, split)
    naming = ["mine: all training labels are of one class, 'a'", "two are needed"]
    outside.refuses("train", "mine", *ON_ALL_LABELS, code=3, naming=naming)


@pytest.mark.fault("L03")
def test_a_class_without_a_training_label_is_named_and_accuracy_is_that_of_all_test_nodes(outside: Outside) -> None:
    labels = ["a", "b", "a", "b", "a", "b", "a", "c", "a", "b", "c", "d"]
    write_tables(outside, labels, ["train"] * 6 + ["validation"] * 2 + ["test"] * 4)
    ended = outside.accepts("train", "mine", "--epochs", 2, "--out", "run", "--json")
    assert "classes without a training label, which cannot be learned: c, d\n" in ended.errors
    truth = {f"n{node}": label for node, label in enumerate(labels)}
    right = [row["label"] == truth[row["node"]] for row in predictions(outside) if row["split"] == "test"]
    assert 0 < sum(right) < 4
    assert json.loads(ended.out)["test_accuracy"] == sum(right) / 4


@pytest.mark.fault("L05")
@pytest.mark.parametrize("word", ["-1", "-100", "NA", "nan", "None", "?"])
def test_only_an_empty_cell_means_unknown(outside: Outside, word: str) -> None:
    write_tables(outside, [*ALTERNATING[:8], word, word, "", " "])
    found = inspected(outside)
    assert found["class_sizes"] == {"a": 4, "b": 4, word: 2}
    assert any(f"label '{word}' (2 nodes) is read as a class of that name" in text for text in warnings_of(found))


@pytest.mark.fault("L05")
def test_from_python_minus_one_is_unknown_and_minus_a_hundred_is_refused() -> None:
    ring = np.roll(np.eye(4), 1, axis=1)
    known = [-1, float("nan"), None, 1]
    assert raw_graph(ring, np.eye(4), known).labels == [None, None, None, "1"]
    with pytest.raises(DataError, match=r"node 2 has -100; classes are numbered from 0, and -1 is unknown"):
        raw_graph(ring, np.eye(4), [0, 1, -100, 1])


@pytest.mark.fault("L06")
@pytest.mark.parametrize("broken", ["0.5", "1e-3", "inf", "1e400"])
def test_a_fraction_is_refused_as_a_label(outside: Outside, broken: str) -> None:
    write_tables(outside, [broken, *["1", "2"] * 5, ""])
    naming = ["nodes.csv", "column 'label'", f"'{broken}' is not a whole number", "give the classes names"]
    outside.refuses("train", "mine", *ON_ALL_LABELS, code=3, naming=naming)


@pytest.mark.fault("L06")
def test_whole_numbers_written_as_floats_are_classes_as_they_are_written(outside: Outside) -> None:
    write_tables(outside, ["1.0", "2.0"] * 6)
    assert inspected(outside)["class_sizes"] == {"1.0": 6, "2.0": 6}


@pytest.mark.fault("L06")
@pytest.mark.parametrize("other", ["1.0", "01", "١", "1e0"])
def test_one_number_in_two_spellings_is_refused(outside: Outside, other: str) -> None:
    write_tables(outside, ["1", other] * 6)
    naming = ["nodes.csv", f"'1' and '{other}' are the same number", "spell it in one way"]
    outside.refuses("train", "mine", *ON_ALL_LABELS, code=3, naming=naming)


@pytest.mark.fault("L07")
def test_labels_are_kept_unchanged(outside: Outside) -> None:
    labels = ["<b>x</b>", "é", "e\u0301", "line\nbreak", "שלום 👩\u200d🔬", "{0.__class__} %s%n"]
    write_tables(outside, labels * 2)
    outside.accepts("train", "mine", *ON_ALL_LABELS)
    columns = predictions(outside)[0]
    assert {f"probability_{label}" for label in labels} <= columns.keys()
    assert {row["label"] for row in predictions(outside)} <= set(labels)


@pytest.mark.fault("L07")
def test_labels_that_look_alike_are_different_classes_with_a_short_notice(outside: Outside) -> None:
    write_tables(outside, ["same", "Same", "same "] + [f"{'Xx'[node % 2]}{node // 2}" for node in range(9)])
    found = warnings_of(inspected(outside))
    assert any("'same' and 'Same' and 'same ' are read as different classes" in text for text in found)
    many = "".join(f"{node},{' ' * node}NA,1\n" for node in range(2_000))
    outside.write("mine/nodes.csv", "id,label,width\n" + many)
    outside.write("mine/edges.csv", "source,target\n0,1\n")
    assert "and 1,995 more labels like these" in warnings_of(inspected(outside))


@pytest.mark.fault("L08")
@pytest.mark.parametrize("cell", ["a|b", "b; a", "a,b", "['a', 'b']", "{b;a}"])
def test_a_cell_of_several_labels_is_refused(outside: Outside, cell: str) -> None:
    write_tables(outside, [*ALTERNATING[:11], cell])
    naming = ["nodes.csv", "column 'label'", cell, "is a list of 'a' and 'b'", "a node has one label"]
    outside.refuses("train", "mine", *ON_ALL_LABELS, code=3, naming=naming)


@pytest.mark.fault("L08")
def test_a_label_with_a_separator_in_its_name_is_a_label(outside: Outside) -> None:
    write_tables(outside, ["rock; pop", "rock|", "a"] * 4)
    assert set(inspected(outside)["class_sizes"]) == {"rock; pop", "rock|", "a"}


@pytest.mark.fault("L08")
def test_several_rows_or_columns_of_labels_are_refused(outside: Outside) -> None:
    nodes = write_tables(outside, ALTERNATING)
    table = nodes.read_text()
    nodes.write_text(table + "n3,a,4\n")
    naming = ["nodes.csv, line 14", "'n3' is already in line 5", "every node has one row"]
    outside.refuses("train", "mine", *ON_ALL_LABELS, code=3, naming=naming)
    nodes.write_text(table.replace("width", "class"))
    naming = ["nodes.csv", "label, class could each be the column of the label", "--label"]
    outside.refuses("train", "mine", *ON_ALL_LABELS, code=3, naming=naming)
    with pytest.raises(DataError, match=r"one per node, got shape \(4, 2\); several labels are not supported"):
        raw_graph(np.eye(4), np.eye(4), np.ones((4, 2), dtype=int))


@pytest.mark.fault("L10")
@pytest.mark.parametrize("cell", ["train;test", "train test", "both", "1", "true"])
def test_a_node_in_two_splits_is_refused(outside: Outside, cell: str) -> None:
    write_tables(outside, ALTERNATING, ["train"] * 5 + [cell] + ["test"] * 6)
    naming = ["nodes.csv, line 7, column 'split'", f"'{cell}'", "expected train, validation or test"]
    outside.refuses("train", "mine", *ON_ALL_LABELS, code=3, naming=naming)


@pytest.mark.fault("L10")
def test_masks_that_share_nodes_are_refused_as_a_leak() -> None:
    masks = {"train": np.arange(NODES) < 8, "test": np.arange(NODES) >= 5}
    message = r"train and test share 3 nodes \(for example 5, 6, 7\): the split leaks"
    with pytest.raises(DataError, match=message):
        Graph.build([(0, 1)], np.eye(NODES), np.arange(NODES) % 2, **masks)
    with pytest.raises(DataError, match=message):
        raw_graph(np.eye(NODES), np.eye(NODES), np.arange(NODES) % 2, split=masks)


@pytest.mark.fault("L11")
@pytest.mark.parametrize(
    ("part", "message"),
    [
        (np.ones(NODES - 1, dtype=bool), r"train mask: expected shape \(12,\), got \(11,\)"),
        (np.zeros(NODES, dtype=bool), "train mask: selects no node"),
        (np.ones(NODES), "train: expected a mask or positions of nodes, got float64"),
        ([0, 1, NODES], "train: positions must be from 0 to 11, got 0 to 12"),
        ([0, -1], "train: positions must be from 0 to 11, got -1 to 0"),
        ([0, 0, 1], "train: a position occurs twice; if this is a mask"),
    ],
)
def test_a_mask_that_does_not_fit_the_nodes_is_refused(part: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Graph.build([(0, 1)], np.eye(NODES), np.arange(NODES) % 2, train=part)


@pytest.mark.fault("L11")
def test_without_validation_nodes_a_recipe_that_needs_them_is_refused(outside: Outside) -> None:
    write_tables(outside, ALTERNATING, ["train"] * 8 + ["test"] * 4)
    naming = ["mine: no validation nodes", "8 labels are too few", "--set select=last --set stop=never"]
    outside.refuses("train", "mine", "--epochs", 2, "--out", "run", code=3, naming=naming)
    outside.write("space.toml", "hidden_dim = [4]")
    words = ("tune", "mine", "--space", "space.toml", "--study", "study.db")
    outside.refuses(*words, code=3, naming=["mine: no validation nodes to compare settings by", "--validation 0.3"])
    outside.accepts("train", "mine", *ON_ALL_LABELS)


@pytest.mark.fault("L11")
def test_a_node_of_the_split_needs_a_label(outside: Outside) -> None:
    write_tables(outside, [*ALTERNATING[:10], "", ""], ["train"] * 9 + ["test"] * 3)
    naming = ["mine", "node 'n10' is in the test set and has no label", "2 such nodes"]
    outside.refuses("train", "mine", *ON_ALL_LABELS, code=3, naming=naming)


@pytest.mark.fault("L12")
def test_labels_of_nodes_that_are_not_there_are_refused() -> None:
    labels = {"0": "a", "1": "b", "unknown": "a", "2": "b"}
    with pytest.raises(DataError, match=r"labels: 'unknown' is none of the nodes \(1 such names\)"):
        ConfGCNClassifier().fit(np.ones((4, 4)), np.eye(4), labels)
    with pytest.raises(DataError, match=r"labels: expected one per node, 4, got 5"):
        raw_graph(np.ones((4, 4)), np.eye(4), ["a", "b", "a", "b", "a"])


@pytest.mark.fault("L13")
def test_the_only_member_of_a_class_stays_in_training(outside: Outside) -> None:
    write_tables(outside, ["a"] * 6 + ["b"] * 5 + ["rare"])
    outside.accepts("train", "mine", "--validation", 0.3, "--test", 0.3, "--epochs", 2, "--out", "run")
    parts = {row["node"]: row["split"] for row in predictions(outside)}
    assert parts["n11"] == "train"
    assert {"train", "validation", "test"} == set(parts.values())


@pytest.mark.fault("L13")
def test_a_share_that_selects_no_node_is_refused(outside: Outside) -> None:
    write_tables(outside, ["a", "b", "c", *[""] * 9])
    naming = ["mine: a validation share of 0.3 of 3 labels is no node", "increase it"]
    outside.refuses("train", "mine", "--validation", 0.3, *ON_ALL_LABELS, code=3, naming=naming)


@pytest.mark.fault("L15")
def test_a_graph_with_nothing_to_predict_is_trained_with_a_notice(outside: Outside) -> None:
    write_tables(outside, ALTERNATING)
    ended = outside.accepts("train", "mine", *ON_ALL_LABELS)
    assert "note: all 12 nodes are trained on: nothing is left to predict\n" in ended.errors
    assert len(predictions(outside)) == NODES


@pytest.mark.fault("L16")
def test_confidence_falls_where_labels_are_wrong(outside: Outside) -> None:
    graph = block_model(600, seed=1, feature_noise=4.0, validation=200)  # hard: wrong labels mislead the model
    outside.write("mine.npz", graph_npz_bytes(raw_from_graph(graph)))
    means = []
    for share in (0.0, 0.3):
        run = f"run-{share}"
        outside.accepts("train", "mine.npz", "--epochs", 30, "--set", f"flipped_labels={share}", "--out", run)
        means.append(np.mean([float(row["probability"]) for row in predictions(outside, run)]))
    assert means[1] < means[0] - 0.03


@pytest.mark.fault("L01", "L02")
@pytest.mark.parametrize(("labels", "message"), [([-1] * 4, "no node has a training label"), ([1] * 4, "of one class")])
def test_from_python_nothing_is_trained_without_two_classes(labels: list[int], message: str, tmp_path: Path) -> None:
    positions = [node for node, label in enumerate(labels) if label >= 0]
    graph = Graph.build([(0, 1), (1, 2), (2, 3)], torch.eye(4), labels, train=positions)
    with pytest.raises(DataError, match=message):
        train(RunRequest(graph, out=tmp_path / "run"), notify=lambda _: None)
    assert not (tmp_path / "run").exists()


@pytest.mark.fault("L08")
@pytest.mark.parametrize("words", [("--label", "id", "--id", "id"), ("--split", "label", "--label", "label")])
def test_one_column_cannot_have_two_roles(outside: Outside, words: tuple[str, ...]) -> None:
    write_tables(outside, ALTERNATING)
    naming = [words[0], words[2], "both name the column", words[1]]
    outside.refuses("train", "mine", *ON_ALL_LABELS, *words, code=2, naming=naming)
