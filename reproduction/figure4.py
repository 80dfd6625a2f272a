"""Figure 4: accuracy without some terms of the objective (Q4), removed cumulatively and one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reproduction.formatting import Numbers, accuracy_text, interval, listed
from reproduction.jobs import PAPER_GRAPHS, Job, Scope, Variant
from reproduction.plots import draw_line, new_figure
from reproduction.rendering import ClaimCheck, Table, outcome_of
from reproduction.results import Results
from reproduction.summaries import accuracy_cell, all_satisfy, is_below, paired_difference
from reproduction.table2 import PAPER, RELEASED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "The paper shows its values only as a picture. A removed term has weight zero; all other settings are unchanged. "
    "The paper does not state its order; here the terms are removed from the last to the first."
)
DATASETS = PAPER_GRAPHS  # the paper shows citeseer only, where one weight of the released settings is zero
PRESETS = (RELEASED, PAPER)
ORDER = ("reg", "const", "label", "smooth")  # the last term of the objective first
CUMULATIVE = tuple(ORDER[:count] for count in range(1, len(ORDER) + 1))
SINGLE = tuple((term,) for term in ORDER)
WAYS = {"cumulative": "terms removed cumulatively", "single": "one term removed"}


def jobs(scope: Scope) -> list[Job]:
    """The full objective and every ablation, for both presets."""
    variants = [without(preset, terms) for preset in PRESETS for terms in ((), *CUMULATIVE, *SINGLE)]
    return scope.jobs(DATASETS, variants)


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set and preset the full objective and both ways of removing terms."""
    return {
        "datasets": {
            dataset: [
                {
                    "title": preset.title,
                    "zero_weight": [term for term in ORDER if not preset.settings(dataset).model[f"lambda_{term}"]],
                    "full": accuracy_cell(results.runs(dataset, preset)),
                    "cumulative": [_cell(results, dataset, preset, terms) for terms in CUMULATIVE],
                    "single": [_cell(results, dataset, preset, terms) for terms in SINGLE],
                }
                for preset in scope.selected(PRESETS)
            ]
            for dataset in scope.datasets_or(DATASETS)
        },
    }


def without(preset: Variant, terms: tuple[str, ...]) -> Variant:
    """The preset with the weights of these terms zero."""
    return preset.changed(preset.title, **{f"lambda_{term}": 0.0 for term in terms})


def _cell(results: Results, dataset: str, preset: Variant, terms: tuple[str, ...]) -> dict[str, Any]:
    runs = results.runs(dataset, without(preset, terms))
    return {
        "removed": list(terms),
        "accuracy": accuracy_cell(runs),
        "difference": paired_difference(runs, results.runs(dataset, preset)),
    }


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per data set."""
    return {dataset: _table(dataset, presets) for dataset, presets in _shown(numbers).items()}


def _shown(numbers: Numbers) -> dict[str, list[Any]]:
    presets = {name: [p for p in rows if p["full"] is not None] for name, rows in numbers["datasets"].items()}
    return {dataset: rows for dataset, rows in presets.items() if rows}


def _table(dataset: str, presets: list[Any]) -> Table:
    header = ["removed", *(text for preset in presets for text in (preset["title"], "difference to all terms"))]
    rows = [["nothing", *(text for preset in presets for text in (accuracy_text(preset["full"]), ""))]]
    for way in WAYS:
        for index, ablation in enumerate(presets[0][way]):
            if way == "single" and index == 0:
                continue  # equal to the first cumulative one
            cells = [_ablation_cells(preset, preset[way][index]) for preset in presets]
            rows.append([", ".join(ablation["removed"]), *(text for pair in cells for text in pair)])
    return Table(f"{dataset}: test accuracy in percent without terms of the objective.", header, rows)


def _ablation_cells(preset: Numbers, ablation: Numbers) -> tuple[str, str]:
    if set(ablation["removed"]) <= set(preset["zero_weight"]):
        return accuracy_text(ablation["accuracy"]), "weight is already zero"
    return accuracy_text(ablation["accuracy"]), interval(ablation["difference"])


def draw(numbers: Numbers) -> Figure | None:
    """One row of panels per data set; None without runs."""
    shown = _shown(numbers)
    if not shown:
        return None
    figure, axes = new_figure(rows=len(shown), columns=len(WAYS))
    for row, (dataset, presets) in zip(axes, shown.items(), strict=True):
        for axis, (way, title) in zip(row, WAYS.items(), strict=True):
            for index, preset in enumerate(presets):
                cells = [preset["full"], *(ablation["accuracy"] for ablation in preset[way])]
                draw_line(axis, range(len(cells)), cells, index, preset["title"], joined=way == "cumulative")
            names = ["all terms", *("−" + "\n−".join(ablation["removed"]) for ablation in presets[0][way])]
            axis.set_xticks(range(len(names)), names, fontsize=7)
            axis.set(title=f"{dataset}, {title}", ylabel="test accuracy, %")
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def check_claims(numbers: Numbers) -> list[ClaimCheck]:
    """Q4: does every term help?"""
    presets = [(dataset, preset) for dataset, rows in _shown(numbers).items() for preset in rows]
    cases = [all_satisfy([ablation["difference"]], is_below) for _, preset in presets for ablation in _removals(preset)]
    sentences = [_sentence(dataset, preset) for dataset, preset in presets]
    claim = "Q4: every term of the objective helps."
    return [ClaimCheck(claim, outcome_of(cases), " ".join(filter(None, sentences)))]


def _removals(preset: Numbers) -> list[Any]:
    """The removals of a single term whose weight is not already zero."""
    return [
        ablation
        for ablation in preset["single"]
        if ablation["removed"][0] not in preset["zero_weight"] and ablation["difference"] is not None
    ]


def _sentence(dataset: str, preset: Numbers) -> str:
    removals = _removals(preset)
    sentences = []
    if removals:
        differences = [f"L_{ablation['removed'][0]} {interval(ablation['difference'])}" for ablation in removals]
        sentences.append(f"{preset['title']} on {dataset}, one term removed: {listed(differences)} points.")
    if removals and preset["zero_weight"]:
        sentences.append(f"The weight of {listed([f'L_{term}' for term in preset['zero_weight']])} is already zero.")
    bare = preset["cumulative"][-1]
    if bare["difference"] is not None:
        rest = f"{accuracy_text(bare['accuracy'])}, {interval(bare['difference'])}"
        sentences.append(f"Without all of them, L_cross alone: {rest}.")
    return " ".join(sentences)
