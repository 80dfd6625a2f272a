"""Numbers as text."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.report.formatting import (
    NOTHING,
    accuracy,
    all_so,
    count,
    decimal,
    decision_text,
    has_interval,
    interval,
    is_above,
    is_below,
    listed,
    percent,
    preset_of,
    published,
    signed,
    spread,
)


def test_a_share_is_a_percentage() -> None:
    assert (percent(0.8126), percent(0.8126, 0), percent(1.0, 2)) == ("81.3", "81", "100.00")


def test_a_difference_has_its_sign() -> None:
    assert (signed(0.0126), signed(-0.0126), signed(0.0126, 2)) == ("+1.3", "−1.3", "+1.26")


def test_what_rounds_to_zero_has_no_sign() -> None:
    assert (signed(0.0), signed(-0.0004), signed(0.0004), signed(-0.0004, 2)) == ("0.0", "0.0", "0.0", "−0.04")


def test_an_interval_is_in_points() -> None:
    assert interval({"mean": 0.01, "low": -0.005, "high": 0.025}) == "+1.0 [−0.5, +2.5]"
    assert interval({"mean": 0.01, "low": 0.0, "high": 0.025}) == "+1.0 [0.0, +2.5]"


def test_a_difference_of_few_pairs_has_no_interval() -> None:
    assert interval({"mean": -0.01, "low": None, "high": None}) == "−1.0"


def test_what_is_not_there_is_a_dash() -> None:
    assert [percent(None), signed(None), interval(None), decimal(None), accuracy(None), published(None)] == [
        NOTHING
    ] * 6


def test_plain_numbers() -> None:
    assert (decimal(0.12345), decimal(4.0, 3), count(19717), count(2214.0)) == ("0.12", "4.000", "19,717", "2,214")


def test_mean_and_deviation() -> None:
    assert spread({"mean": 0.5, "std": 0.0123}) == "50.0 ± 1.2"
    assert spread({"mean": 0.5, "std": None}) == "50.0"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ({"mean": 0.8, "std": 0.01, "runs": 10, "diverged": 0}, "80.0 ± 1.0"),
        ({"mean": 0.8, "std": 0.01, "runs": 10, "diverged": 2}, "80.0 ± 1.0 (2 of 10 diverged)"),
        ({"mean": 0.8, "std": None, "runs": 1, "diverged": 0}, "80.0"),
        ({"mean": None, "std": None, "runs": 3, "diverged": 3}, "diverged"),
    ],
)
def test_an_accuracy_says_how_many_runs_diverged(cell: dict[str, Any], text: str) -> None:
    assert accuracy(cell) == text


def test_a_figure_of_the_paper_is_as_it_is_printed() -> None:
    assert (published((81.0, None)), published([72.7, 0.8])) == ("81.0", "72.7 ± 0.8")


def test_lists_in_prose() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ("a", "b", "c"))] == ["", "a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [
        (0.1, 0.2, True, False),
        (-0.2, -0.1, False, True),
        (-0.1, 0.2, False, False),
        (0.0, 0.2, False, False),
        (-0.2, 0.0, False, False),
        (None, None, False, False),
    ],
    ids=["above", "below", "on both sides", "zero at its low end", "zero at its high end", "of few pairs"],
)
def test_a_difference_is_told_when_its_interval_leaves_zero_out(
    low: float | None, high: float | None, above: bool, below: bool
) -> None:
    difference = {"mean": 0.1, "low": low, "high": high}
    assert (is_above(difference), is_below(difference)) == (above, below)


def test_no_difference_is_neither_above_nor_below() -> None:
    assert (is_above(None), is_below(None)) == (False, False)


def test_an_interval_is_there_where_there_are_pairs_enough() -> None:
    found = [{"mean": 0.1, "low": 0.0, "high": 0.2}, {"mean": 0.1, "low": None, "high": None}, None]
    assert [has_interval(difference) for difference in found] == [True, False, False]


def test_a_title_has_the_name_of_its_preset_in_it() -> None:
    assert [preset_of(title) for title in ("ConfGCN `paper`", "ConfGCN `released`, uniform influence", "GAT")] == [
        "paper",
        "released",
        "",
    ]


@pytest.mark.parametrize(
    ("lows", "finding"),
    [((0.1, 0.2), True), ((0.1, -0.1), False), ((0.1, None), None), ((-0.1, None), False), ((None, None), None)],
)
def test_one_that_is_not_so_decides_though_others_cannot_be_told(
    lows: tuple[float | None, ...], finding: bool | None
) -> None:
    differences = [{"mean": 0.0, "low": low, "high": None if low is None else 0.3} for low in lows]
    assert all_so(differences, is_above) is finding


def test_a_certified_decision_names_the_accepted_nodes_and_the_guarantee() -> None:
    record = {"max_error": 0.01234, "delta": 0.1, "certified": True, "accepted": 1567, "candidates": 2568}
    assert decision_text(record) == ("accept 1,567 of 2,568 nodes (61 %), error at most 1.23 % with 90 % certainty")


@pytest.mark.parametrize(("candidates", "excess"), [(44, ", more than there are nodes"), (45, ""), (46, "")])
def test_a_decision_without_enough_labels_says_how_many_are_needed(candidates: int, excess: str) -> None:
    record = {"max_error": 0.05, "delta": 0.1, "certified": False, "accepted": 0, "candidates": candidates}
    assert decision_text({**record, "labels_needed": 45}) == (
        f"error at most 5 % with 90 % certainty cannot be certified: about 45 more labels are needed{excess}"
    )
    assert decision_text({**record, "labels_needed": None}).endswith("cannot be certified at this error rate")
