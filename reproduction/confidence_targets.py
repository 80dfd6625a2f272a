"""The targets of the default preset for its confidences, and whether its results reach them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reproduction.formatting import NOTHING, Numbers, listed, percent, signed
from reproduction.rendering import Table

# Tolerances above a noise floor and around a coverage, and a share.
TARGETS = {"ece": 0.01, "coverage": 0.01, "by_degree": 0.02, "flips": 0.5}

Result = tuple[str, bool | None]  # text of a cell, and whether the target is reached; None where undetermined


@dataclass(frozen=True)
class Inputs:
    """The numbers of one data set that a target is compared with."""

    numbers: Numbers
    dataset: str
    cell: Numbers  # of the default preset

    def first_cell(self, group: str) -> Numbers | None:
        """The cell of the default preset in another group of runs."""
        cell: Numbers | None = self.numbers[group][0]["cells"][self.dataset]
        return cell


@dataclass(frozen=True)
class Target:
    """One row of the table."""

    title: str
    target: str
    result: Callable[[Inputs], Result]


def mean_in(cell: Numbers | None, name: str) -> float | None:
    """The mean of a measurement in a cell."""
    summary = None if cell is None else cell.get(name)
    return None if summary is None else summary["mean"]


def target_table(numbers: Numbers) -> Table:
    """Target and result of the default preset on every data set."""
    cells = numbers["methods"][0]["cells"]
    rows = [[row.title, row.target, *(_text(numbers, dataset, row) for dataset in cells)] for row in ROWS]
    runs = f"{numbers['runs']:,} runs, {listed(numbers['dates'])}" if numbers["runs"] else "no runs"
    return Table(f"Confidences of the default preset: target and result ({runs}).", ["", "target", *cells], rows)


def _text(numbers: Numbers, dataset: str, row: Target) -> str:
    cell = numbers["methods"][0]["cells"][dataset]
    if cell is None:
        return NOTHING
    text, reached = row.result(Inputs(numbers, dataset, cell))
    return text if reached is None else f"{text} {'✓' if reached else '✗'}"


def _calibration(inputs: Inputs) -> Result:
    error, floor = (mean_in(inputs.cell, name) for name in ("calibrated_ece", "calibrated_ece_floor"))
    if error is None or floor is None:
        return NOTHING, None
    return f"{percent(error)} ({percent(floor)})", error <= floor + TARGETS["ece"]


def _coverage(inputs: Inputs) -> Result:
    sets, numbers = inputs.first_cell("sets"), inputs.numbers
    if sets is None:
        return NOTHING, None
    names = [(f"{score}_{level}", level / 100) for score in numbers["set_scores"] for level in numbers["coverages"]]
    overall = max(abs(sets[f"coverage_{name}"]["mean"] - target) for name, target in names)
    by_degree = max(sets[f"deviation_{name}"]["mean"] for name, _ in names)
    reached = overall <= TARGETS["coverage"] and by_degree <= TARGETS["by_degree"]
    return f"{percent(overall)} / {percent(by_degree)}", reached


def _no_label(inputs: Inputs) -> Result:
    names = ("no_label_confidence", "lowest_other_confidence", "no_label_accuracy")
    own, lowest_other, accuracy = (mean_in(inputs.cell, name) for name in names)
    if own is None or lowest_other is None:
        return "no such nodes", None
    return f"{percent(own)} ({percent(lowest_other)}; {percent(accuracy)})", own < lowest_other


def _flips(inputs: Inputs) -> Result:
    share = mean_in(inputs.first_cell("flipped"), "flips_found")
    return percent(share), None if share is None else share >= TARGETS["flips"]


ROWS = (
    Target("calibrated ECE (noise floor), %", f"≤ floor {signed(TARGETS['ece'])}", _calibration),
    Target(
        "prediction sets: largest deviation from the target coverage, overall / by degree group, points",
        f"≤ {percent(TARGETS['coverage'])} / {percent(TARGETS['by_degree'])}",
        _coverage,
    ),
    Target(
        "confidence in components without labels (lowest other group; accuracy), %",
        "below the other groups",
        _no_label,
    ),
    Target("flipped labels among the most suspicious, %", f"≥ {percent(TARGETS['flips'])}", _flips),
)
