"""One rule for what a label is and what is unknown, and labels come back as what they were given as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pandas as pd
import pytest
import torch

from confgcn.data.labels import LabelValues, label_texts
from confgcn.exceptions import CorruptFileError, DataError

NAN = float("nan")


@pytest.mark.parametrize(
    "values",
    [
        [3, -1, 0],
        [3.0, NAN, 0.0],
        ["3", None, "0"],
        ["3", NAN, "0"],
        ["3", "", "0"],
        np.array([3, -1, 0], dtype=np.int8),
        np.array([3.0, NAN, 0.0], dtype=np.float16),
        np.array([[3], [-1], [0]]),
        np.array([3, None, 0], dtype=object),
        [np.uint64(3), None, np.int16(0)],
        torch.tensor([3, -1, 0]),
        [torch.tensor(3), None, torch.tensor(0)],
        torch.tensor([3.0, NAN, 0.0]),
        pandas.Series([3, None, 0], dtype="Int64"),
        pandas.Categorical(["3", None, "0"]),
    ],
)
def test_every_way_to_write_the_same_labels(values: Any) -> None:
    assert label_texts(values, 3) == ["3", None, "0"]


def test_texts_survive() -> None:
    texts = ["<b>", "é", "e\u0301", " x ", "3.0", "-100"]
    assert label_texts(texts, 6) == texts
    assert label_texts(np.array(texts), 6) == texts


def test_truth_values_are_classes() -> None:
    assert label_texts(np.array([True, False]), 2) == ["True", "False"]
    assert label_texts([np.True_, None], 2) == ["True", None]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 0.5], "node 1 has 0.5, a continuous value"),
        ([0, float("inf")], "node 1 has inf"),
        ([0, -100], "node 1 has -100; classes are numbered from 0"),
        ([0, -2.0], "node 1 has -2.0"),
        ([0, ("a", "b")], "one label per node"),
        (np.zeros((2, 2)), r"got shape \(2, 2\)"),
        ([0, 1, 2], "expected one per node, 2, got 3"),
        (np.int64(3), "expected one per node, 2, got 0"),
        (np.array([0, 1j]), "expected a text or a whole number"),
    ],
)
def test_what_is_no_label_is_named(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        label_texts(values, 2)


NAN = float("nan")


@pytest.mark.parametrize(
    ("given", "names", "kind"),
    [
        ([0, 2, -1], ["0", "2"], "whole"),
        (np.array([0.0, NAN, 2.0]), ["0", "2"], "whole"),
        (torch.tensor([1, 0]), ["0", "1"], "whole"),
        (np.array([[1], [0]]), ["0", "1"], "whole"),
        (["0", "2", ""], ["0", "2"], "text"),
        (np.array(["b", "a"]), ["a", "b"], "text"),
        ([None, "a", NAN], ["a"], "text"),
        (pd.Series(["a", None], dtype="category"), ["a"], "text"),
        (pd.Series([1, pd.NA], dtype="Int64"), ["1"], "whole"),
        (np.array([True, False]), ["False", "True"], "truth"),
        ([True, None, -1], ["True"], "truth"),
        ([True, 0], ["0", "True"], "text"),
        ([1, "a"], ["1", "a"], "text"),
        ({"a": 1, "b": 0}, ["0", "1"], "whole"),
        ({"a": "1", "b": "0"}, ["0", "1"], "text"),
        ({"a": True, "b": False}, ["False", "True"], "truth"),
    ],
)
def test_the_kind_is_that_of_the_labels_given(given: Any, names: list[str], kind: str) -> None:
    assert LabelValues.of(given, names).kind == kind


@pytest.mark.parametrize("given", [None, "club", [], [None, NAN, "", -1]])
def test_of_labels_in_a_graph_only_their_texts_tell(given: Any) -> None:
    assert LabelValues.of(given, ["0", "10"]).kind == "whole"
    assert LabelValues.of(given, ["0", "x"]).kind == "text"


@pytest.mark.parametrize("name", ["07", "1.0", "-2", "٣", "²", "1" * 5000, "", " 1"])
def test_what_no_number_is_written_like_stays_a_text(name: str) -> None:
    values = LabelValues.of(None, ["7", name])
    assert values.array(["7", name]).tolist() == ["7", name]


def test_values_are_what_they_were() -> None:
    whole, truth = LabelValues("whole").array(["3", "10"]), LabelValues("truth").array(["False", "True"])
    assert whole.tolist() == [3, 10]
    assert whole.dtype.kind == "i"
    assert truth.tolist() == [False, True]
    assert truth.dtype == bool
    assert LabelValues("text").array(["3", "x"]).tolist() == ["3", "x"]


@pytest.mark.parametrize("kind", ["text", "whole", "truth"])
def test_the_kind_survives_json(kind: Any) -> None:
    assert LabelValues.from_json(LabelValues(kind).to_json()) == LabelValues(kind)


@pytest.mark.parametrize("record", [{}, {"labels": "number"}, {"labels": ["text"]}])
def test_another_kind_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(CorruptFileError, match="expected text, whole, truth"):
        LabelValues.from_json(record)
