"""Beyond the paper: other presets, and what limits ConfGCN as it is printed."""

from __future__ import annotations

from confgcn.reporting.tables import Table
from confgcn.reporting.verdict import Verdict
from confgcn.reporting.words import Numbers, accuracy

CAPTIONS = {
    "limits": "ConfGCN `paper` with one option changed: test accuracy in percent.",
    "others": "Presets that Table 2 does not show: test accuracy in percent.",
}


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per group."""
    header = ["", *numbers["datasets"]]
    return {
        name: Table(caption, header, [[row["title"], *map(accuracy, row["cells"].values())] for row in numbers[name]])
        for name, caption in CAPTIONS.items()
    }


def verdicts(numbers: Numbers) -> list[Verdict]:
    """None: the paper says nothing of these."""
    return []
