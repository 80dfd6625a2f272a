"""Beyond the paper: the effect of the influences on accuracy, and raw probability against accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confgcn.report.run_charts import QUARTILE_LABELS
from reproduction.formatting import Numbers, accuracy_text, mean_std
from reproduction.jobs import PAPER_GRAPHS, Job, Scope
from reproduction.plots import draw_line, draw_pairs, new_figure
from reproduction.rendering import Table
from reproduction.results import Results
from reproduction.summaries import accuracy_cell, group_cells
from reproduction.table2 import RELEASED, UNIFORM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "Preset `released`, raw probabilities. The second table shows quartile groups of the test nodes of the demo graph "
    "by their largest probability."
)
DEMO = "demo"
DATASETS = (*PAPER_GRAPHS, DEMO)
INFLUENCES = {"learned": "learned influence", "uniform": "uniform influence"}
LINES = {"accuracy": "accuracy", "mean_probability": "mean probability"}


def jobs(scope: Scope) -> list[Job]:
    """Runs of Table 2, and the same on the demo graph."""
    return scope.jobs(DATASETS, (RELEASED, UNIFORM))


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Accuracy with learned and uniform influences; probability and accuracy in groups by probability."""
    runs = results.runs(DEMO, RELEASED)
    return {
        "datasets": {
            dataset: {
                "learned": accuracy_cell(results.runs(dataset, RELEASED)),
                "uniform": accuracy_cell(results.runs(dataset, UNIFORM)),
            }
            for dataset in scope.datasets_or(DATASETS)
        },
        "mean_probability": group_cells(runs, "mean_probability"),
        "accuracy": group_cells(runs, "accuracy_by_probability"),
    }


def tables(numbers: Numbers) -> dict[str, Table]:
    """The numbers of the two panels."""
    rows = [
        [title, *(accuracy_text(cells[key]) for cells in numbers["datasets"].values())]
        for key, title in INFLUENCES.items()
    ]
    tables = {"influence": Table("Test accuracy in percent.", ["", *numbers["datasets"]], rows)}
    if numbers["mean_probability"]:
        groups = [[title, *map(mean_std, numbers[key])] for key, title in LINES.items()]
        tables["probability"] = Table("Mean probability and accuracy in percent.", ["", *QUARTILE_LABELS], groups)
    return tables


def draw(numbers: Numbers) -> Figure:
    """Left the effect of the influences, right probability against accuracy."""
    figure, ((left, right),) = new_figure(rows=1, columns=2)
    datasets = numbers["datasets"]
    lines = {title: [cells[key] for cells in datasets.values()] for key, title in INFLUENCES.items()}
    draw_pairs(left, list(datasets), lines)
    left.set_title("effect of the influences")
    left.legend(frameon=False, loc="upper left", fontsize=7)
    for index, (key, title) in enumerate(LINES.items()):
        draw_line(right, range(len(numbers[key])), numbers[key], index, title)
    right.set(ylim=(0, 100), ylabel="%", title="raw probability and accuracy (demo)")
    right.set_xticks(range(len(QUARTILE_LABELS)), QUARTILE_LABELS)
    right.set_xlabel("quartile group of the test nodes, by probability")
    right.legend(frameon=False)
    return figure
