"""Stopping rules on histories written by hand."""

from __future__ import annotations

import pytest

from confgcn.training.recipe import Recipe
from confgcn.training.selection import SELECTION, STOPPING, needs_validation


def losses(*values: float) -> list[dict[str, float]]:
    return [{"validation_loss": value} for value in values]


@pytest.mark.parametrize(
    ("rule", "history", "stops"),
    [
        ("never", (1, 2, 3, 4, 5, 6), False),
        ("no_improvement", (3, 2, 1), False),
        ("no_improvement", (1, 2, 3), False),
        ("no_improvement", (1, 2, 3, 4), True),
        ("no_improvement", (1, 1, 1, 1), True),
        ("rising_loss", (1, 2, 3), False),
        ("rising_loss", (3, 2, 1, 2.1), True),
        ("rising_loss", (3, 2, 1, 2.0), False),
    ],
)
def test_stopping_with_a_patience_of_three(rule: str, history: tuple[float, ...], stops: bool) -> None:
    assert STOPPING[rule](losses(*history), 3) is stops


def looks(*pairs: tuple[float, float]) -> list[dict[str, float]]:
    return [{"validation_accuracy": accuracy, "validation_loss": loss} for accuracy, loss in pairs]


@pytest.mark.parametrize(
    ("rule", "history", "keeps"),
    [
        ("best_validation_accuracy", [(0.5, 1), (0.6, 2)], True),
        ("best_validation_accuracy", [(0.5, 1), (0.5, 0.5)], False),
        ("best_validation_accuracy", [(0.7, 1), (0.5, 1), (0.6, 1)], False),
        ("best_validation_loss", [(0.5, 2), (0.1, 1)], True),
        ("best_validation_loss", [(0.5, 1), (0.9, 1)], False),
        ("best_validation_loss", [(0.5, 1), (0.5, 3), (0.5, 2)], False),
        ("best_of_both", [(0.5, 1), (0.5, 1)], True),
        ("best_of_both", [(0.5, 1), (0.6, 1.1)], False),
        ("best_of_both", [(0.5, 1), (0.4, 0.9)], False),
        ("best_of_both", [(0.7, 3), (0.5, 2), (0.6, 1)], False),
        ("last", [(0.9, 1), (0.1, 9)], True),
    ],
)
def test_which_look_is_kept(rule: str, history: list[tuple[float, float]], keeps: bool) -> None:
    assert SELECTION[rule](looks(*history)) is keeps


@pytest.mark.parametrize(
    ("history", "stops"),
    [
        ([(0.5, 1), (0.4, 2), (0.4, 2)], False),
        ([(0.5, 1), (0.4, 2), (0.4, 2), (0.4, 2)], True),
        ([(0.5, 1), (0.4, 2), (0.4, 2), (0.5, 2)], False),
        ([(0.5, 1), (0.4, 2), (0.4, 1), (0.4, 2)], False),
        ([(0.5, 1), (0.6, 2), (0.4, 2), (0.4, 2)], False),
    ],
)
def test_patience_of_three_begins_anew_when_either_is_as_good_as_ever(
    history: list[tuple[float, float]], stops: bool
) -> None:
    assert STOPPING["neither_improves"](looks(*history), 3) is stops


def test_recipes_and_rules_have_the_same_names() -> None:
    fields = Recipe.model_fields
    assert set(fields["select"].annotation.__args__) == set(SELECTION)
    assert set(fields["stop"].annotation.__args__) == set(STOPPING)


def test_which_rules_need_a_validation_set() -> None:
    assert not needs_validation("last", "never")
    assert needs_validation("best_validation_accuracy", "never")
    assert needs_validation("last", "rising_loss")
