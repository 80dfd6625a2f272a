"""Numbers as text."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.report.formatting import (
    NOTHING,
    count,
    decimal,
    decision_text,
    held_out_text,
    listed,
    notice_text,
    percent,
)


def decision_record(**changed: Any) -> dict[str, Any]:
    record = {"max_error": 0.05, "delta": 0.1, "certified": True, "approximate": False, "threshold": 0.8}
    return {**record, "accepted": 3, "candidates": 5, "labels_needed": None, **changed}


def test_a_share_is_a_percentage() -> None:
    assert (percent(0.8126), percent(0.8126, 0), percent(1.0, 2)) == ("81.3", "81", "100.00")


def test_a_missing_value_is_a_dash() -> None:
    assert [percent(None), decimal(None)] == [NOTHING] * 2


def test_plain_numbers() -> None:
    assert (decimal(0.12345), decimal(4.0, 3), count(19717), count(2214.0)) == ("0.12", "4.000", "19,717", "2,214")


def test_lists_in_prose() -> None:
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ("a", "b", "c"))] == ["", "a", "a and b", "a, b and c"]


def test_a_certified_decision_names_the_accepted_nodes_and_the_guarantee() -> None:
    record = decision_record(max_error=0.01234, accepted=1567, candidates=2568)
    assert decision_text(record) == ("accept 1,567 of 2,568 nodes (61 %), error at most 1.23 % with 90 % certainty")


def test_an_approximate_decision_says_so_and_why() -> None:
    reason = " (approximate: the same labels chose or calibrated the model)"
    exact, approximate = decision_record(), decision_record(certified=False, approximate=True)
    assert decision_text(approximate) == decision_text(exact) + reason
    nothing = {"threshold": None, "certified": False}
    assert decision_text({**approximate, **nothing}) == decision_text({**exact, **nothing}) + reason


@pytest.mark.parametrize(
    ("case", "choosing", "certifying", "texts"),
    [
        ("divided", 1250, 1249, ("2,499 held-out labels", "1,250 chose and calibrated, 1,249 certify")),
        ("whole", 500, 0, ("500 held-out labels", "all chose and calibrated, none certify (held_out = whole)")),
        ("too_few", 59, 0, ("59 held-out labels", "none certify (fewer than 60 are not divided)")),
        ("cross_fitted", 140, 0, ("no held-out labels", "140 training labels were held out in turn", "none certify")),
        ("none", 0, 0, ("no held-out labels", "nothing is calibrated, nothing certified")),
    ],
)
def test_the_use_of_held_out_labels_is_a_sentence(
    case: str, choosing: int, certifying: int, texts: tuple[str, ...]
) -> None:
    found = held_out_text({"case": case, "choosing": choosing, "certifying": certifying, "certified": certifying > 0})
    assert found.startswith(texts[0])
    assert all(text in found for text in texts)


@pytest.mark.parametrize(("candidates", "excess"), [(44, ", more than there are nodes"), (45, ""), (46, "")])
def test_a_decision_without_enough_labels_says_how_many_are_needed(candidates: int, excess: str) -> None:
    record = decision_record(certified=False, threshold=None, accepted=0, candidates=candidates)
    assert decision_text({**record, "labels_needed": 45}) == (
        f"error at most 5 % with 90 % certainty cannot be certified: about 45 more labels are needed{excess}"
    )
    assert decision_text({**record, "labels_needed": None}).endswith("cannot be certified at this error rate")


def test_one_class_for_every_node_is_named() -> None:
    assert notice_text({"code": "one_class", "label": "spam", "nodes": 5000}) == (
        "all 5,000 nodes that were not trained on are predicted as class spam"
    )


def test_both_accuracies_are_named_where_the_majority_class_is_as_good() -> None:
    record = {"code": "no_better_than_majority", "label": "b", "accuracy": 0.8, "majority_accuracy": 0.825}
    assert notice_text({**record, "held_out_labels": 2500}) == (
        "no better than the majority class: 80.0 % of the 2,500 held-out labels are predicted correctly, and 82.5 % by "
        "predicting class b for every node"
    )


def test_both_accuracies_and_log_losses_are_named_where_the_features_alone_are_better() -> None:
    accuracies = {"accuracy": 0.58, "features_accuracy": 0.612, "held_out_labels": 500}
    losses = {"log_loss": 1.25, "features_log_loss": 1.1}
    assert notice_text({"code": "no_better_than_features", **accuracies, **losses}) == (
        "no better than the features alone: 58.0 % of the 500 held-out labels are predicted correctly, and 61.2 % by a "
        "linear model that does not use the graph (log loss 1.250 and 1.100)"
    )
