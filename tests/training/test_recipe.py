"""Settings are checked: ranges, types, and the name that was meant."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.exceptions import UsageError
from confgcn.training.recipe import Recipe, validated


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, "epochs = 0"),
        ({"epochs": -1}, "greater than or equal to 1"),
        ({"epochs": 1.5}, "epochs = 1.5"),
        ({"learning_rate": float("nan")}, "learning_rate = nan"),
        ({"epochs": True}, "epochs = True"),
        ({"epochs": "8"}, "epochs = '8'"),
        ({"learning_rate": 1e38}, "less than or equal to"),
        ({"learning_rate": -0.1}, "greater than 0"),
        ({"learning_rate": "fast"}, "learning_rate = 'fast'"),
        ({"select": "best"}, "'best_validation_accuracy'"),
        ({"epoch": 3}, "did you mean 'epochs'"),
        ({"zzz": 3}, "choose from batch_size, clip_norm, epochs"),
    ],
)
def test_a_wrong_setting_is_named(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        validated(Recipe, values, where="here")


def test_right_settings_pass() -> None:
    assert validated(Recipe, {"epochs": 7}, where="here").epochs == 7


def test_many_and_long_values_make_no_long_message() -> None:
    with pytest.raises(UsageError, match=r"epochs = 9{60}\.\.\.: ") as raised:
        validated(Recipe, {"epochs": int("9" * 4000)}, where="here")
    assert len(str(raised.value)) < 300
    with pytest.raises(UsageError, match=r"; and 2 more$") as raised:
        validated(
            Recipe,
            dict.fromkeys(("epochs", "learning_rate", "stop", "select", "patience", "optimiser"), "x" * 3000),
            where="here",
        )
    assert len(str(raised.value)) < 1000
