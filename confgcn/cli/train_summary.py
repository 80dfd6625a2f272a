"""The summary that ``confgcn train`` prints: accuracy, calibration, the decision, the files and the next commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from confgcn.cli.console import one_line

FILES = {
    "predictions.csv": "label, probability, prediction set and decision for every node",
    "label_errors.csv": "training labels, most probable errors first",
    "metrics.json": "the numbers above",
}
GROUPS = ("least confident", "second", "third", "most confident")
WIDTH = 22  # of the names of quantities and files


def show_summary(summary: Mapping[str, Any]) -> None:
    """Print the summary of :func:`confgcn.train` for people."""
    first = summary["runs"][0]
    warnings = [f"{'Warning':<{WIDTH}}{text}" for text in result_warnings(summary)]
    results = (
        _trained(summary),
        _accuracy(summary),
        _search(first),
        warnings,
        _calibration(first),
        _decisions(first),
        _files(summary),
    )
    for lines in results:
        typer.echo("\n".join(map(one_line, lines)) + "\n" if lines else "", nl=bool(lines))
    typer.echo(f"Finished in {summary['seconds']:.1f} s.")


def _trained(summary: Mapping[str, Any]) -> list[str]:
    """What was trained on what."""
    graph = summary["runs"][0]["graph_size"]
    size = f"{graph['nodes']:,} nodes, {graph['edges']:,} edges, {graph['classes']} classes"
    runs = f", {summary['seeds']} runs" if summary["seeds"] > 1 else ""
    model = f"{summary['method']} (preset {summary['preset']})"
    return [f"Trained {model} on {summary['dataset']}: {size}, {graph['train']:,} training labels{runs}"]


def _accuracy(summary: Mapping[str, Any]) -> list[str]:
    first = summary["runs"][0]
    graph, held_out = first["graph_size"], first["held_out"]
    rows = {
        "test": ("Test accuracy", f"on {graph['test']:,} nodes that training did not use"),
        "certify": (
            "Certifying accuracy",
            f"on {held_out['certifying']:,} nodes that chose nothing",
        ),
        "validation": ("Validation accuracy", f"on {held_out['choosing']:,} nodes that selected the epoch"),
        "held_out": ("Held-out accuracy", f"on the {graph['train']:,} training labels, held out in turn"),
    }
    lines = []
    for key, (name, nodes) in rows.items():
        accuracy, std = summary[f"{key}_accuracy"], summary.get(f"{key}_accuracy_std")
        if accuracy is not None:
            spread = "" if std is None else f" ± {100 * std:.1f}"
            lines.append(f"{name:<{WIDTH}}{100 * accuracy:5.1f}{spread} %  {nodes}")
            lines += _by_class(summary, key)
    return lines


def _by_class(summary: Mapping[str, Any], split: str) -> list[str]:
    """Balanced accuracy and ROC AUC, where accuracy alone can mislead."""
    is_binary = summary["runs"][0]["graph_size"]["classes"] == 2
    balanced, roc_auc = summary[f"{split}_balanced_accuracy"], summary[f"{split}_roc_auc"]
    lines = []
    if balanced is not None and (is_binary or summary["imbalanced"]):
        lines.append(f"{'  balanced accuracy':<{WIDTH}}{100 * balanced:5.1f} %  mean over classes")
    if roc_auc is not None:
        lines.append(f"{'  ROC AUC':<{WIDTH}}{roc_auc:5.3f}    0.5 = random")
    return lines


def _search(run: Mapping[str, Any]) -> list[str]:
    """What a search for settings has chosen, and whether the edges help."""
    from confgcn.report.search_text import search_texts

    return [f"{name.capitalize():<{WIDTH}}{text}" for name, text in search_texts(run).items()]


def result_warnings(summary: Mapping[str, Any]) -> list[str]:
    """The notices about the results, each kind once; of several runs, in how many of them."""
    from confgcn.report.formatting import notice_text

    of_kind: dict[str, list[Mapping[str, Any]]] = {}
    for run in summary["runs"]:
        for record in run["notices"]:
            of_kind.setdefault(record["code"], []).append(record)
    seeds = summary["seeds"]
    counts = {code: f" (in {len(records)} of {seeds} runs)" if seeds > 1 else "" for code, records in of_kind.items()}
    return [notice_text(records[0]) + counts[code] for code, records in of_kind.items()]


def _calibration(run: Mapping[str, Any]) -> list[str]:
    """Mean probability against accuracy, in groups of test nodes."""
    calibrated = run["calibrated"]
    if not calibrated:
        return []
    lines = [
        f"Calibration: {run['graph_size']['test']:,} test nodes in four groups by probability (seed {run['seed']})",
        f"  {'group':<20}{'mean probability':>18}{'accuracy':>12}",
    ]
    for name, group in zip(GROUPS, calibrated["groups"], strict=False):
        lines.append(f"  {name:<20}{100 * group['mean_probability']:>16.1f} %{100 * group['accuracy']:>10.1f} %")
    scores = {"probability": calibrated["auroc_probability"], "learned precision": calibrated["auroc_precision"]}
    known = [f"{score:.2f} by {name}" for name, score in scores.items() if score is not None]
    return (
        [*lines, f"Correct ranked above wrong predictions: AUROC {', '.join(known)} (0.5 = random)"] if known else lines
    )


def _decisions(run: Mapping[str, Any]) -> list[str]:
    """How held-out labels were used, and which predictions can be accepted."""
    from confgcn.report.formatting import decision_text, held_out_text

    decisions = [f"{'Decision':<{WIDTH}}{decision_text(record)}" for record in run["decisions"]]
    return [held_out_text(run["held_out"]).capitalize(), *decisions]


def _files(summary: Mapping[str, Any]) -> list[str]:
    """Where the files are, and what to do next."""
    top = Path(summary["run_dir"])
    run = top if summary["seeds"] == 1 else top / f"seed-{summary['runs'][0]['seed']}"
    return [
        f"Files in {run}:",
        *(f"  {name:<{WIDTH - 2}}{content}" for name, content in FILES.items()),
        "Next:",
        f"  confgcn report {run}    writes report.html, a page to explore every node",
        f"  confgcn predict {run} --edges EDGES --nodes NODES    predicts new nodes",
    ]
