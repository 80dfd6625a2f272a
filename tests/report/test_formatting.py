"""Numbers as text."""

from __future__ import annotations

import pytest

from confgcn.report.formatting import NOTHING, count, decimal, decision_text, listed, percent


def test_a_share_is_a_percentage() -> None:
    assert (percent(0.8126), percent(0.8126, 0), percent(1.0, 2)) == ("81.3", "81", "100.00")


def test_a_missing_value_is_a_dash() -> None:
    assert [percent(None), decimal(None)] == [NOTHING] * 2


def test_plain_numbers() -> None:
    assert (decimal(0.12345), decimal(4.0, 3), count(19717), count(2214.0)) == ("0.12", "4.000", "19,717", "2,214")


def test_lists_in_prose() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ("a", "b", "c"))] == ["", "a", "a and b", "a, b and c"]


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
