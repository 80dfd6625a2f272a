"""``confgcn evaluate``: accuracy, calibration and guarantees of a run, on nodes whose labels it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confgcn.cli.console import AsJson, Coverage, DataDir, Delta, MaxError, RunPath, notice, print_json, print_paths

if TYPE_CHECKING:
    from rich.table import Table

ROWS = (  # title, key of evaluation.json, format
    ("accuracy", "accuracy", "{:.1%}"),
    ("balanced accuracy", "balanced_accuracy", "{:.1%}"),
    ("ROC AUC", "roc_auc", "{:.3f}"),
    ("calibration error, bins of equal width", "ece", "{:.3f}"),
    ("  noise floor (perfect calibration)", "ece_floor", "{:.3f}"),
    ("calibration error, bins of equal size", "ece_mass", "{:.3f}"),
    ("  noise floor (perfect calibration)", "ece_mass_floor", "{:.3f}"),
    ("calibration error, mean over classes", "ece_class", "{:.3f}"),
    ("log loss", "nll", "{:.3f}"),
    ("Brier score", "brier", "{:.3f}"),
    ("area under the risk-coverage curve", "aurc", "{:.3f}"),
    ("  excess over the optimal order", "excess_aurc", "{:.3f}"),
    ("AUROC of correct predictions, by confidence", "auroc_correct", "{:.3f}"),
)
LEARNED = (
    ("AUROC of correct predictions, by precision", "auroc_precision", "{:.3f}"),
    ("AUROC of correct predictions, by mu", "auroc_mu", "{:.3f}"),
    ("accuracy of the label with the largest mu", "mu_accuracy", "{:.1%}"),
    ("AUROC of same-label edges, by influence", "auroc_edge", "{:.3f}"),
    ("AUROC of same-label edges, by distance", "auroc_distance", "{:.3f}"),
    ("accuracy with uniform influence", "uniform_accuracy", "{:.1%}"),
)


def evaluate(
    run: RunPath,
    coverage: Coverage = None,
    max_error: MaxError = None,
    delta: Delta = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a run on its test nodes and write numbers and figures into the run directory.

    Targets that are not given are those of the training. For example: confgcn evaluate runs/cora-confgcn
    """
    from confgcn.runs.evaluate import evaluate_run

    targets = {"coverage": coverage, "max_error": max_error, "delta": delta}
    scores, files, notices = evaluate_run(run, targets=targets, data_dir=data_dir)
    for text in notices:
        notice(text)
    if as_json:
        print_json(scores)
        return
    _show(scores)
    print_paths(files)


def _show(scores: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table(title=f"{scores['evaluated_on']}; calibrated by: {scores['calibration']}", title_justify="left")
    is_binary = scores["roc_auc"] is not None
    is_shown = {"balanced_accuracy": is_binary or scores["imbalanced"], "roc_auc": is_binary}
    for heading in ("", "raw", "calibrated"):
        table.add_column(heading, justify="right" if heading else "left")
    for title, name, form in ROWS:
        if is_shown.get(name, True):
            table.add_row(title, _text(scores[name], form), _text(scores[f"calibrated_{name}"], form))
    for title, name, form in LEARNED:
        if scores[name] is not None:
            table.add_row(title, _text(scores[name], form), "")
    console.print(table)
    console.print("AUROC: 0.5 = random")
    console.print(_guarantees(scores))
    console.print(_exactness(scores))
    groups = Table(title="groups of nodes, calibrated (q1 to q4: quartiles)", title_justify="left")
    for heading in ("group", "nodes", "mean probability", "accuracy"):
        groups.add_column(heading, justify="left" if heading == "group" else "right")
    for name in _group_names(scores):
        shares = (_text(scores[f"calibrated_{name}_{key}"], "{:.1%}") for key in ("confidence", "accuracy"))
        groups.add_row(name.replace("_", " "), f"{scores[f'calibrated_{name}_count']:,}", *shares)
    console.print(groups)


def _guarantees(scores: dict[str, Any]) -> Table:
    """The targets of prediction sets and of the decision, and what was observed on the test nodes."""
    from rich.table import Table

    table = Table(title="prediction sets and accepted labels of test nodes", title_justify="left")
    for heading in ("", "target", "observed"):
        table.add_column(heading, justify="right" if heading else "left")
    rows = (
        ("sets that contain the true label", f"at least {scores['coverage']:.1%}", "set_coverage", "{:.1%}"),
        ("mean number of labels in a set", "", "set_size", "{:.2f}"),
        ("accepted labels", "", "accepted_share", "{:.1%}"),
        ("  of these wrong", f"at most {scores['max_error']:.1%}", "accepted_error", "{:.1%}"),
    )
    for title, target, name, form in rows:
        table.add_row(title, target, _text(scores[name], form))
    return table


def _exactness(scores: dict[str, Any]) -> str:
    from confgcn.report.formatting import APPROXIMATE

    if scores["certified"]:
        return f"guarantees: certified by {scores['certifying_labels']:,} labels used for nothing else"
    return f"guarantees: {APPROXIMATE}"


def _group_names(scores: dict[str, Any]) -> list[str]:
    ends = "_count"
    return [name.removesuffix(ends) for name in scores if name.endswith(ends) and not name.startswith("calibrated_")]


def _text(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)
