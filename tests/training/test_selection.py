"""Selection and stopping rules on validation checks written by hand."""

from __future__ import annotations

import pytest

from confgcn.training.recipe import Recipe
from confgcn.training.selection import CALIBRATED_LOSS, SELECTION_RULES, STOPPING_RULES, Record, needs_validation


def checks(*pairs: tuple[float, float]) -> list[Record]:
    """The calibrated loss is the loss: the rules are to differ in the key only."""
    return [
        {"validation_accuracy": accuracy, "validation_loss": loss, CALIBRATED_LOSS: loss} for accuracy, loss in pairs
    ]


def stops_after(rule: str, history: list[Record], patience: int = 3) -> bool:
    """The verdict after the last check."""
    stopping = STOPPING_RULES[rule](patience)
    return [stopping.stops(check) for check in history][-1]


def is_best(rule: str, history: list[Record]) -> bool:
    selection = SELECTION_RULES[rule]()
    return [selection.is_best(check) for check in history][-1]


@pytest.mark.parametrize(
    ("rule", "history", "stops"),
    [
        ("never", (1, 2, 3, 4, 5, 6), False),
        ("no_improvement", (3, 2, 1), False),
        ("no_improvement", (1, 2, 3), False),
        ("no_improvement", (1, 2, 3, 4), True),
        ("no_improvement", (1, 1, 1, 1), True),
        ("no_calibrated_improvement", (1, 2, 3), False),
        ("no_calibrated_improvement", (1, 2, 3, 4), True),
        ("rising_loss", (1, 2, 3), False),
        ("rising_loss", (3, 2, 1, 2.1), True),
        ("rising_loss", (3, 2, 1, 2.0), False),
    ],
)
def test_stopping_with_a_patience_of_three(rule: str, history: tuple[float, ...], stops: bool) -> None:
    assert stops_after(rule, checks(*((0.5, loss) for loss in history))) is stops


@pytest.mark.parametrize(
    ("rule", "history", "keeps"),
    [
        ("best_validation_accuracy", [(0.5, 1), (0.6, 2)], True),
        ("best_validation_accuracy", [(0.5, 1), (0.5, 0.5)], False),
        ("best_validation_accuracy", [(0.7, 1), (0.5, 1), (0.6, 1)], False),
        ("best_validation_loss", [(0.5, 2), (0.1, 1)], True),
        ("best_validation_loss", [(0.5, 1), (0.9, 1)], False),
        ("best_validation_loss", [(0.5, 1), (0.5, 3), (0.5, 2)], False),
        ("best_calibrated_loss", [(0.5, 2), (0.1, 1)], True),
        ("best_calibrated_loss", [(0.5, 1), (0.9, 1)], False),
        ("best_of_both", [(0.5, 1), (0.5, 1)], True),
        ("best_of_both", [(0.5, 1), (0.6, 1.1)], False),
        ("best_of_both", [(0.5, 1), (0.4, 0.9)], False),
        ("best_of_both", [(0.7, 3), (0.5, 2), (0.6, 1)], False),
        ("last", [(0.9, 1), (0.1, 9)], True),
    ],
)
def test_which_check_is_kept(rule: str, history: list[tuple[float, float]], keeps: bool) -> None:
    assert is_best(rule, checks(*history)) is keeps


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
    assert stops_after("neither_improves", checks(*history)) is stops


def test_recipes_and_rules_have_the_same_names() -> None:
    fields = Recipe.model_fields
    assert set(fields["select"].annotation.__args__) == set(SELECTION_RULES)
    assert set(fields["stop"].annotation.__args__) == set(STOPPING_RULES)


def test_which_rules_need_a_validation_set() -> None:
    assert not needs_validation("last", "never")
    assert needs_validation("best_validation_accuracy", "never")
    assert needs_validation("last", "rising_loss")


@pytest.mark.parametrize("rule", SELECTION_RULES)
def test_the_first_check_is_always_kept(rule: str) -> None:
    assert is_best(rule, checks((0.0, 99.0)))


class CountedCheck(dict[str, float]):
    """A validation check that lists what was read of it."""

    def __init__(self, check: Record) -> None:
        super().__init__(check)
        self.read: list[str] = []

    def __getitem__(self, name: str) -> float:
        self.read.append(name)
        return super().__getitem__(name)


def test_no_rule_reads_an_earlier_check_again() -> None:
    for rules in (
        [rule().is_best for rule in SELECTION_RULES.values()],
        [rule(3).stops for rule in STOPPING_RULES.values()],
    ):
        for rule in rules:
            history = [CountedCheck(check) for check in checks(*((0.5, 1.0 + n % 3) for n in range(20)))]
            for check in history:
                rule(check)
            assert all(len(check.read) == len(set(check.read)) for check in history)
