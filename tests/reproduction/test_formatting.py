"""Accuracies, differences and intervals as text."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.formatting import NOTHING, accuracy_text, interval, mean_std, preset_of, published_text, signed


def test_a_difference_has_its_sign() -> None:
    assert (signed(0.0126), signed(-0.0126), signed(0.0126, 2)) == ("+1.3", "−1.3", "+1.26")


def test_a_value_that_rounds_to_zero_has_no_sign() -> None:
    assert (signed(0.0), signed(-0.0004), signed(0.0004), signed(-0.0004, 2)) == ("0.0", "0.0", "0.0", "−0.04")


def test_an_interval_is_in_points() -> None:
    assert interval({"mean": 0.01, "low": -0.005, "high": 0.025}) == "+1.0 [−0.5, +2.5]"
    assert interval({"mean": 0.01, "low": 0.0, "high": 0.025}) == "+1.0 [0.0, +2.5]"


def test_a_difference_of_few_pairs_has_no_interval() -> None:
    assert interval({"mean": -0.01, "low": None, "high": None}) == "−1.0"


def test_a_missing_value_is_a_dash() -> None:
    assert [signed(None), interval(None), accuracy_text(None), published_text(None)] == [NOTHING] * 4


def test_mean_and_deviation() -> None:
    assert mean_std({"mean": 0.5, "std": 0.0123}) == "50.0 ± 1.2"
    assert mean_std({"mean": 0.5, "std": None}) == "50.0"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ({"mean": 0.8, "std": 0.01, "runs": 10, "diverged": 0}, "80.0 ± 1.0"),
        ({"mean": 0.8, "std": 0.01, "runs": 10, "diverged": 2}, "80.0 ± 1.0 (2 of 10 diverged)"),
        ({"mean": 0.8, "std": None, "runs": 1, "diverged": 0}, "80.0"),
        ({"mean": None, "std": None, "runs": 3, "diverged": 3}, "diverged"),
    ],
)
def test_an_accuracy_names_the_number_of_diverged_runs(cell: dict[str, Any], text: str) -> None:
    assert accuracy_text(cell) == text


def test_a_published_accuracy_is_as_printed() -> None:
    assert (published_text((81.0, None)), published_text([72.7, 0.8])) == ("81.0", "72.7 ± 0.8")


def test_a_title_has_the_name_of_its_preset_in_it() -> None:
    assert [preset_of(title) for title in ("ConfGCN `paper`", "ConfGCN `released`, uniform influence", "GAT")] == [
        "paper",
        "released",
        "",
    ]
