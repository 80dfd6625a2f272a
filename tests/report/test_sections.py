"""Sentences and tables of the sections of the report."""

from __future__ import annotations

from typing import Any

from confgcn.report import sections


def test_the_headline_states_accuracy_and_decision(numbers: dict[str, Any]) -> None:
    assert sections.headline(numbers) == [
        "5 nodes were predicted from 1 training labels.",
        "The accuracy is 75.0 % on 14 test nodes.",
        "Accept 3 of 5 nodes (60 %), error at most 5 % with 90 % certainty.",
    ]
    numbers["quality"], numbers["about"]["decisions"] = None, []
    assert "accuracy is unknown" in sections.headline(numbers)[-1]


def test_classes_beyond_z_have_two_letters() -> None:
    assert [sections.code(n) for n in (0, 25, 26, 51, 52, 26 * 27)] == ["A", "Z", "AA", "AZ", "BA", "AAA"]


def test_the_most_frequent_error_is_named(numbers: dict[str, Any]) -> None:
    numbers["quality"]["confusion"] = [[9, 1, 0], [0, 8, 5], [2, 0, 7]]
    assert "y predicted as z (5 nodes)" in sections.confusion(numbers)["sentence"]


def test_of_many_classes_the_most_frequent_are_shown(page_numbers: Any) -> None:
    numbers = page_numbers(["a", "b"], [f"c{n}" for n in range(30)], [(0, 1)])
    counts = [[n if n == m else 0 for m in range(30)] for n in range(30)]
    numbers["quality"]["confusion"] = counts
    confusion = sections.confusion(numbers)
    assert [row["name"] for row in confusion["rows"]] == [f"c{n}" for n in range(10, 30)]
    assert confusion["rows"][0]["cells"][0] == ("10", round(100 * (10 / 29) ** 0.5))
    assert "The 20 most frequent of 30 classes are shown." in confusion["sentence"]


def names_of_scores(numbers: dict[str, Any]) -> list[str]:
    return [score["name"] for score in sections.scores(numbers)]


def test_two_classes_have_balanced_accuracy_and_roc_auc(page_numbers: Any) -> None:
    numbers = page_numbers(["a", "b"], ["x", "y"], [(0, 1)])
    assert names_of_scores(numbers)[:3] == ["accuracy", "balanced accuracy", "ROC AUC"]
    assert [score["value"] for score in sections.scores(numbers)][1:3] == ["65.0 %", "0.875"]


def test_imbalanced_classes_have_balanced_accuracy(numbers: dict[str, Any]) -> None:
    assert "balanced accuracy" not in names_of_scores(numbers)
    numbers["quality"]["imbalanced"] = True
    assert "balanced accuracy" in names_of_scores(numbers)
    assert "ROC AUC" not in names_of_scores(numbers)
