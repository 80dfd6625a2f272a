"""Figure 4: accuracy without some terms of the objective (Q4), removed one after the other and one at a time."""

from __future__ import annotations

from typing import Any

from reproduction.jobs import Job, Variant
from reproduction.published import GRAPHS
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.summaries import accuracy_cell, paired_difference
from reproduction.table2 import PAPER, RELEASED

DATASETS = GRAPHS  # the paper has citeseer alone, where one weight of the released settings is zero
PRESETS = (RELEASED, PAPER)
ORDER = ("reg", "const", "label", "smooth")  # the objective from its end; the paper does not name its order
CUMULATIVE = tuple(ORDER[:count] for count in range(1, len(ORDER) + 1))
SINGLE = tuple((term,) for term in ORDER)


def jobs(scope: Scope) -> list[Job]:
    """The full objective and every ablation, of both presets."""
    variants = [without(preset, terms) for preset in PRESETS for terms in ((), *CUMULATIVE, *SINGLE)]
    return scope.jobs(DATASETS, variants)


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set and preset the full objective and both ways of removing terms."""
    return {
        "datasets": {
            dataset: [
                {
                    "title": preset.title,
                    "absent": [term for term in ORDER if not preset.settings(dataset).model[f"lambda_{term}"]],
                    "full": accuracy_cell(results.runs(dataset, preset)),
                    "cumulative": [_cell(results, dataset, preset, terms) for terms in CUMULATIVE],
                    "single": [_cell(results, dataset, preset, terms) for terms in SINGLE],
                }
                for preset in scope.wanted(PRESETS)
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
