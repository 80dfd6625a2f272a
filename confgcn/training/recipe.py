"""The settings of a training, and how settings of any kind are validated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from confgcn.exceptions import UsageError, brief, unknown_name
from confgcn.models.ranges import Count, LearningRate, Positive

MOST_PROBLEMS, LONGEST_VALUE = 4, 60  # in an error, and the characters of each value
SETTINGS = ConfigDict(frozen=True, extra="forbid", strict=True)

SettingsType = TypeVar("SettingsType", bound=BaseModel)


class Recipe(BaseModel):
    """``epochs`` steps of ``optimiser``; ``stop`` may end training early, ``select`` chooses the weights to keep.

    The validation set is evaluated every ``evaluate_every`` epochs and after the last one. Both rules use these
    validation checks, and ``patience`` counts them (``training.selection``). Gradients whose norm over all parameters
    exceeds ``clip_norm`` are scaled down to it.

    With a ``batch_size`` an epoch has one step for each of several samples. About so many nodes of a sample are
    counted in the loss; messages reach them from at most ``fanout`` neighbours of each node (``graph.sampling``).

    With ``search`` the candidates of the preset are trained and the best are combined (``runs.search``).
    """

    model_config = SETTINGS

    optimiser: Literal["adam", "sgd"] = "adam"
    epochs: Count = 250
    learning_rate: LearningRate = 0.01
    clip_norm: Positive | None = None
    evaluate_every: Count = 1
    select: Literal[
        "best_validation_accuracy", "best_validation_loss", "best_calibrated_loss", "best_of_both", "last"
    ] = "best_validation_accuracy"
    stop: Literal["never", "no_improvement", "no_calibrated_improvement", "neither_improves", "rising_loss"] = "never"
    patience: Count = 10
    batch_size: Count | None = None
    fanout: Count = 10
    search: bool = False


def validated(model: type[SettingsType], values: Mapping[str, Any], *, where: str) -> SettingsType:
    """Settings checked against their model; the error names the key, the value, the range, the nearest key."""
    try:
        return model(**values)
    except ValidationError as error:
        problems = [_explain(problem, list(model.model_fields)) for problem in error.errors()]
        more = f"; and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
        raise UsageError(f"{where}: {'; '.join(problems[:MOST_PROBLEMS])}{more}") from None


def _explain(problem: Any, known: list[str]) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return str(unknown_name("setting", key, known))
    return f"{key} = {brief(repr(problem['input']), LONGEST_VALUE)}: {problem['msg'].lower()}"
