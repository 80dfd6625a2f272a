"""The tables of the quality of the confidences, from their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from reproduction.confidence_targets import mean_in, target_table
from reproduction.default_variants import DEFAULT
from reproduction.formatting import NOTHING, Numbers, decimal, interval, listed, mean_std, percent
from reproduction.rendering import Table
from reproduction.table2 import GAT, GCN

COLUMNS = (
    ("accuracy, %", "test_accuracy", percent),
    ("with uniform influences, %", "uniform_accuracy", percent),
    ("log loss, raw", "nll", decimal),
    ("scaled", "scaled_nll", decimal),
    ("calibrated", "calibrated_nll", decimal),
    ("Brier score, scaled", "scaled_brier", decimal),
    ("calibrated", "calibrated_brier", decimal),
    ("ECE, scaled, %", "scaled_ece", percent),
    ("noise floor, %", "scaled_ece_floor", percent),
    ("AUROC of the confidence, scaled", "scaled_auroc_correct", decimal),
    ("calibrated", "calibrated_auroc_correct", decimal),
    ("AURC, calibrated", "calibrated_aurc", decimal),
    ("AUROC of the precision", "auroc_precision", decimal),
)


def tables(numbers: Numbers) -> dict[str, Table]:
    """The targets, then every group of runs."""
    return {
        "targets": target_table(numbers),
        "comparison": _comparison(numbers),
        **{f"methods {dataset}": _methods(numbers, dataset) for dataset in numbers["datasets"]},
        "mixed": _mixed(numbers),
        "sets": _sets(numbers),
        "set scores": _set_scores(numbers),
        "decisions": _decisions(numbers),
        "ablations": _ablations(numbers),
    }


def _methods(numbers: Numbers, dataset: str) -> Table:
    rows = [
        [row["title"], *(write(mean_in(row["cells"][dataset], name)) for _, name, write in COLUMNS)]
        for row in numbers["methods"]
    ]
    return Table(f"{dataset}: every method, means over seeds.", ["", *(title for title, *_ in COLUMNS)], rows)


def _comparison(numbers: Numbers) -> Table:
    """Accuracy and calibration error of the default and of two common models, without and with calibration."""
    cells = {row["title"]: row["cells"] for row in numbers["methods"]}
    rows = [
        (f"{DEFAULT.title}, calibrated", DEFAULT, "calibrated_ece"),
        ("GAT, calibrated", GAT, "calibrated_ece"),
        ("Kipf-GCN, calibrated", GCN, "calibrated_ece"),
        ("GAT, softmax", GAT, "ece"),
        ("Kipf-GCN, softmax", GCN, "ece"),
    ]
    return Table(
        "Accuracy and calibration: test accuracy / expected calibration error, in percent.",
        ["", *numbers["datasets"]],
        [
            [title, *(_accuracy_and_error(cells[variant.title][dataset], error) for dataset in numbers["datasets"])]
            for title, variant, error in rows
        ],
    )


def _accuracy_and_error(cell: Numbers | None, error: str) -> str:
    return NOTHING if cell is None else f"{mean_std(cell['test_accuracy'])} / {percent(mean_in(cell, error))}"


def _mixed(numbers: Numbers) -> Table:
    rows = [
        [row["title"], *(NOTHING if c is None else mean_std(c["test_accuracy"]) for c in row["cells"].values())]
        for row in numbers["mixed"]
    ]
    over = [interval(numbers["mixed_minus_gat"][dataset]) for dataset in numbers["datasets"]]
    rows.append(["default minus GAT", *over])
    return Table("Mixed graphs: test accuracy in percent.", ["", *numbers["datasets"]], rows)


def _sets(numbers: Numbers) -> Table:
    score, level = numbers["set_scores"][0], numbers["coverages"][0]
    names = [f"coverage_{score}_{level}", f"size_{score}_{level}", f"worst_by_degree_{score}_{level}"]
    caption = (
        f"Prediction sets at {level} % ({score} score): coverage, mean size, and coverage of the worst degree group "
        "when every group has its own quantile."
    )
    return _joined(caption, numbers["datasets"], numbers["sets"], names, (percent, decimal, percent))


def _set_scores(numbers: Numbers) -> Table:
    own = numbers["sets"][0]["cells"]
    rows = []
    for level, score in product(numbers["coverages"], numbers["set_scores"]):
        names = (f"coverage_{score}_{level}", f"size_{score}_{level}")
        cells = [_join(cell, names, (percent, decimal)) for cell in own.values()]
        rows.append([f"{score}, {level} %", *cells])
    return Table("Prediction sets of the default by score: coverage and mean size.", ["", *own], rows)


def _decisions(numbers: Numbers) -> Table:
    own = numbers["sets"][0]["cells"]
    quantities = {"accepted": "test nodes accepted, %", "error": "wrong among them, %"}
    rows = [
        [f"at most {level} % wrong: {title}", *(percent(mean_in(c, f"{name}_{level}")) for c in own.values())]
        for level, (name, title) in product(numbers["errors"], quantities.items())
    ]
    return Table("Decisions of the default, certified on validation labels that did not choose.", ["", *own], rows)


def _ablations(numbers: Numbers) -> Table:
    names = ("test_accuracy", "mu_accuracy", "calibrated_nll", "auroc_edge")
    cells = [cell for row in numbers["ablations"] for cell in row["cells"].values() if cell]
    seeds = sorted({str(cell["runs"]) for cell in cells}) or ["no"]
    caption = (
        f"Ablations of `consensus`, {listed(seeds)} seeds: accuracy of the prediction, accuracy of the argmax of mu, "
        "calibrated log loss, AUROC of the influence."
    )
    formats = (percent, percent, lambda value: decimal(value, 3), decimal)
    return _joined(caption, numbers["ablated_on"], numbers["ablations"], names, formats)


def _joined(
    caption: str,
    datasets: Sequence[str],
    rows: Sequence[Numbers],
    names: Sequence[str],
    formats: Sequence[Callable[[float | None], str]],
) -> Table:
    """Several measurements in every cell, separated by slashes."""
    cells = [[row["title"], *(_join(cell, names, formats) for cell in row["cells"].values())] for row in rows]
    return Table(caption, ["", *datasets], cells)


def _join(cell: Numbers | None, names: Sequence[str], formats: Sequence[Callable[[float | None], str]]) -> str:
    return " / ".join(write(mean_in(cell, name)) for name, write in zip(names, formats, strict=True))
