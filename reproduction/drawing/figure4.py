"""Figure 4: accuracy without some terms of the objective."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confgcn.report.figure_style import draw_line, new_figure
from confgcn.report.formatting import Numbers, accuracy, all_so, interval, is_below, listed
from reproduction.tables import Table
from reproduction.verdict import Verdict, judged

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTE = (
    "The paper's values are in its picture alone. Removed means that the term's weight is zero, other settings as they "
    "are. The paper does not name its order; here the objective is taken apart from its end."
)
WAYS = {"cumulative": "terms removed one after the other", "single": "one term removed"}


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per data set."""
    return {dataset: _table(dataset, presets) for dataset, presets in _shown(numbers).items()}


def draw(numbers: Numbers) -> Figure | None:
    """The picture; None where there is nothing to show."""
    shown = _shown(numbers)
    if not shown:
        return None
    figure, axes = new_figure(rows=len(shown), columns=len(WAYS))
    for row, (dataset, presets) in zip(axes, shown.items(), strict=True):
        for axis, (way, words) in zip(row, WAYS.items(), strict=True):
            for place, preset in enumerate(presets):
                cells = [preset["full"], *(ablation["accuracy"] for ablation in preset[way])]
                draw_line(axis, range(len(cells)), cells, place, 1, preset["title"], joined=way == "cumulative")
            names = ["all terms", *(_short(ablation["removed"]) for ablation in presets[0][way])]
            axis.set_xticks(range(len(names)), names, fontsize=7)
            axis.set(title=f"{dataset}, {words}", ylabel="test accuracy, %")
    axes[0][0].legend(frameon=False, fontsize=7)
    return figure


def _shown(numbers: Numbers) -> dict[str, list[Any]]:
    presets = {name: [p for p in found if p["full"] is not None] for name, found in numbers["datasets"].items()}
    return {dataset: found for dataset, found in presets.items() if found}


def _short(removed: list[str]) -> str:
    return "−" + "\n−".join(removed)


def _table(dataset: str, presets: list[Any]) -> Table:
    header = ["removed", *(text for preset in presets for text in (preset["title"], "difference to all terms"))]
    rows = [["nothing", *(text for preset in presets for text in (accuracy(preset["full"]), ""))]]
    for way in WAYS:
        for place, ablation in enumerate(presets[0][way]):
            if way == "single" and place == 0:
                continue  # the first of those removed one after the other
            cells = [_cells(preset, preset[way][place]) for preset in presets]
            rows.append([", ".join(ablation["removed"]), *(text for pair in cells for text in pair)])
    return Table(f"{dataset}: test accuracy in percent without terms of the objective.", header, rows)


def _cells(preset: Numbers, ablation: Numbers) -> tuple[str, str]:
    if set(ablation["removed"]) <= set(preset["absent"]):
        return accuracy(ablation["accuracy"]), "its weight is zero already"
    return accuracy(ablation["accuracy"]), interval(ablation["difference"])


def verdicts(numbers: Numbers) -> list[Verdict]:
    """Q4: does every term help?"""
    presets = [(dataset, preset) for dataset, found in _shown(numbers).items() for preset in found]
    cases = [all_so([ablation["difference"]], is_below) for _, preset in presets for ablation in _removals(preset)]
    texts = [_sentence(dataset, preset) for dataset, preset in presets]
    return [Verdict("Q4: every term of the objective helps.", judged(cases), " ".join(filter(None, texts)))]


def _removals(preset: Numbers) -> list[Any]:
    """Every removal of a single term that is there to be removed."""
    return [
        ablation
        for ablation in preset["single"]
        if ablation["removed"][0] not in preset["absent"] and ablation["difference"] is not None
    ]


def _sentence(dataset: str, preset: Numbers) -> str:
    removals = _removals(preset)
    sentences = []
    if removals:
        parts = [f"L_{ablation['removed'][0]} {interval(ablation['difference'])}" for ablation in removals]
        sentences.append(f"{preset['title']} on {dataset}, one term removed: {listed(parts)} points.")
    if removals and preset["absent"]:
        sentences.append(f"{listed([f'L_{term}' for term in preset['absent']])} had weight zero already.")
    bare = preset["cumulative"][-1]
    if bare["difference"] is not None:
        left = f"{accuracy(bare['accuracy'])}, {interval(bare['difference'])}"
        sentences.append(f"Without all of them, L_cross alone: {left}.")
    return " ".join(sentences)
