"""One rule for what a label is and what is unknown, whatever the labels came as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
import torch

from confgcn.data.label_texts import label_texts
from confgcn.exceptions import DataError

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
