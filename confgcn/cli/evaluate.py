"""``confgcn evaluate``: how far a run can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confgcn.cli.console import AsJson, Coverage, DataDir, Delta, MaxError, notice, print_json, print_paths

if TYPE_CHECKING:
    from rich.table import Table

RunPath = Annotated[Path, typer.Argument(help="Run directory, as `confgcn train` wrote it.", readable=False)]

ROWS = (
    ("accuracy", "accuracy", "{:.1%}"),
    ("calibration error, equal width", "ece", "{:.3f}"),
    ("  of a perfect model on so few nodes", "ece_floor", "{:.3f}"),
    ("calibration error, equal mass", "ece_mass", "{:.3f}"),
    ("  of a perfect model on so few nodes", "ece_mass_floor", "{:.3f}"),
    ("calibration error over classes", "ece_class", "{:.3f}"),
    ("log loss", "nll", "{:.3f}"),
    ("Brier score", "brier", "{:.3f}"),
    ("area under the risk-coverage curve", "aurc", "{:.3f}"),
    ("  more than the best order", "excess_aurc", "{:.3f}"),
    ("confidence tells right from wrong", "auroc_correct", "{:.3f}"),
)
LEARNED = (
    ("precision tells right from wrong", "auroc_precision", "{:.3f}"),
    ("mu tells right from wrong", "auroc_mu", "{:.3f}"),
    ("accuracy of the largest mu", "mu_accuracy", "{:.1%}"),
    ("influence tells edges within a label", "auroc_edge", "{:.3f}"),
    ("distance tells edges within a label", "auroc_distance", "{:.3f}"),
    ("accuracy, all influences made equal", "uniform_accuracy", "{:.1%}"),
)


def evaluate(
    run: RunPath,
    coverage: Coverage = None,
    max_error: MaxError = None,
    delta: Delta = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a run on its test nodes; writes the numbers and figures into the run directory.

    Targets that are not given are those of the training. For example: confgcn evaluate runs/cora-confgcn
    """
    from confgcn.runs.evaluate import evaluate_run

    targets = {"coverage": coverage, "max_error": max_error, "delta": delta}
    found, files, notices = evaluate_run(run, targets=targets, data_dir=data_dir)
    for text in notices:
        notice(text)
    if as_json:
        print_json(found)
        return
    _show(found)
    print_paths(files)


def _show(found: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"{found['evaluated_on']}; calibrated by: {found['calibration']}", title_justify="left")
    for heading in ("", "as predicted", "calibrated"):
        table.add_column(heading, justify="right" if heading else "left")
    for title, name, form in ROWS:
        table.add_row(title, _text(found[name], form), _text(found[f"calibrated_{name}"], form))
    for title, name, form in LEARNED:
        if found[name] is not None:
            table.add_row(title, _text(found[name], form), "")
    console.print(table)
    console.print(_guarantees(found))
    slices = Table(title="by place in the graph, calibrated", title_justify="left")
    for heading in ("", "nodes", "says", "is right"):
        slices.add_column(heading, justify="right" if heading else "left")
    for name in _slice_names(found):
        count, says, right = (found[f"calibrated_{name}_{key}"] for key in ("count", "confidence", "accuracy"))
        slices.add_row(name.replace("_", " "), f"{count:,}", _text(says, "{:.1%}"), _text(right, "{:.1%}"))
    console.print(slices)


def _guarantees(found: dict[str, Any]) -> Table:
    """The targets of prediction sets and of the decision, and what was observed on the test nodes."""
    from rich.table import Table

    table = Table(title="prediction sets and accepted labels, test nodes", title_justify="left")
    for heading in ("", "target", "observed"):
        table.add_column(heading, justify="right" if heading else "left")
    rows = (
        ("sets that contain the true label", f"at least {found['coverage']:.1%}", "set_coverage", "{:.1%}"),
        ("mean number of labels in a set", "", "set_size", "{:.2f}"),
        ("accepted labels", "", "accepted_share", "{:.1%}"),
        ("  of which are wrong", f"at most {found['max_error']:.1%}", "accepted_error", "{:.1%}"),
    )
    for title, target, name, form in rows:
        table.add_row(title, target, _text(found[name], form))
    return table


def _slice_names(found: dict[str, Any]) -> list[str]:
    ends = "_count"
    return [name.removesuffix(ends) for name in found if name.endswith(ends) and not name.startswith("calibrated_")]


def _text(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)
