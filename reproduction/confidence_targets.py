"""The targets of the default preset for accuracy and confidences, and whether its results reach them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reproduction.formatting import NOTHING, Numbers, decimal, interval, listed, mean_std, percent, signed
from reproduction.rendering import Table
from reproduction.robustness_tables import decimal_interval
from reproduction.summaries import has_interval

# Tolerated losses of accuracy, a share, and tolerances above a noise floor or around a coverage.
TARGETS = {"influence": 0.003, "mixed": 0.005, "ece": 0.01, "coverage": 0.01, "by_degree": 0.02, "flips": 0.5}
# By data set: the target, and the value aimed at.
ACCURACY = {"citeseer": (0.745, 0.76), "cora": (0.84, 0.865), "pubmed": (0.825, 0.855), "cora_ml": (0.865, 0.885)}
AUROC = {"citeseer": (0.75, 0.80), "cora": (0.815, 0.86), "pubmed": (0.75, 0.81), "cora_ml": (0.83, 0.88)}

Result = tuple[str, bool | None]  # text of a cell, and whether the target is reached; None where undetermined


@dataclass(frozen=True)
class Inputs:
    """The numbers of one data set that a target is compared with."""

    numbers: Numbers
    dataset: str
    cell: Numbers  # of the default preset

    def difference(self, name: str) -> Numbers | None:
        """A paired difference of the default preset to another variant."""
        difference: Numbers | None = self.numbers["differences"][self.dataset][name]
        return difference

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
    return Table(f"Target and result of the default preset ({runs}).", ["", "target", *cells], rows)


def _text(numbers: Numbers, dataset: str, row: Target) -> str:
    cell = numbers["methods"][0]["cells"][dataset]
    if cell is None:
        return NOTHING
    text, reached = row.result(Inputs(numbers, dataset, cell))
    return text if reached is None else f"{text} {'✓' if reached else '✗'}"


def _accuracy(inputs: Inputs) -> Result:
    target, aim = ACCURACY.get(inputs.dataset, (None, None))
    summary = inputs.cell["test_accuracy"]
    text = f"{mean_std(summary)} ({percent(target)}; {percent(aim)})"
    return text, None if target is None else summary["mean"] >= target


def _influence(inputs: Inputs) -> Result:
    graph = inputs.numbers["influence"]["original"].get(inputs.dataset)
    difference = None if graph is None else graph["differences"]["chosen"]["test"]
    return interval(difference), difference["low"] > -TARGETS["influence"] if has_interval(difference) else None


def _mixed(inputs: Inputs) -> Result:
    difference, cell = inputs.difference("mixed_consensus"), inputs.first_cell("mixed")
    if cell is None or difference is None:
        return NOTHING, None
    return f"{mean_std(cell['test_accuracy'])} ({interval(difference)})", difference["mean"] >= -TARGETS["mixed"]


def _below_best_peer(name: str) -> Callable[[Inputs], Result]:
    def result(inputs: Inputs) -> Result:
        peer = inputs.numbers["best_peer"].get(inputs.dataset)
        difference = None if peer is None else peer[f"{name}_difference"]
        if peer is None or difference is None:
            return NOTHING, None
        text = f"{decimal_interval(difference)} ({peer['best_peer_by_log_loss']})"
        return text, difference["mean"] < 0

    return result


def _confidence(inputs: Inputs) -> Result:
    target, aim = AUROC.get(inputs.dataset, (None, None))
    auroc = mean_in(inputs.cell, "calibrated_auroc_correct")
    text = f"{decimal(auroc, 3)} ({decimal(target, 3)}; {decimal(aim, 3)})"
    return text, None if target is None or auroc is None else auroc >= target


def _risk_coverage(inputs: Inputs) -> Result:
    difference = inputs.difference("aurc_consensus")
    text = f"{decimal(mean_in(inputs.cell, 'calibrated_aurc'), 3)} ({decimal_interval(difference)})"
    return text, None if difference is None else difference["mean"] < 0


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
    Target("accuracy (target; aim), %", "≥ target", _accuracy),
    Target(
        "accuracy, influence chosen by the program minus uniform: lower end of the interval",
        f"> {signed(-TARGETS['influence'])}",
        _influence,
    ),
    Target(
        "accuracy on mixed graphs (difference to `consensus`), %", f"difference ≥ {signed(-TARGETS['mixed'])}", _mixed
    ),
    Target("log loss minus that of the best peer", "lower", _below_best_peer("nll")),
    Target("Brier score minus that of the best peer", "lower", _below_best_peer("brier")),
    Target("AUROC of the confidence (target; aim)", "≥ target", _confidence),
    Target("area under the risk-coverage curve (difference to `consensus`)", "lower", _risk_coverage),
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
