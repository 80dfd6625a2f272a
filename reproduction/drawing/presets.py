"""Beyond the paper: other presets, and what limits ConfGCN as it is printed."""

from __future__ import annotations

from confgcn.report.formatting import Numbers, accuracy
from reproduction.tables import Table
from reproduction.verdict import Verdict

NOTE = "What has not been run is left open."
CAPTIONS = {
    "limits": "ConfGCN `paper` with one option changed: test accuracy in percent.",
    "others": "Presets that Table 2 does not show: test accuracy in percent.",
}


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per group."""
    return {name: _table(numbers, name, caption) for name, caption in CAPTIONS.items()}


def _table(numbers: Numbers, name: str, caption: str) -> Table:
    cells = [cell for row in numbers[name] for cell in row["cells"].values() if cell]
    usual = max((cell["runs"] for cell in cells), default=0)
    rows = [[row["title"], *(_cell(cell, usual) for cell in row["cells"].values())] for row in numbers[name]]
    return Table(caption, ["", *numbers["datasets"]], rows)


def _cell(cell: Numbers | None, usual: int) -> str:
    """With the number of runs, where there are fewer than usual."""
    runs = f", runs: {cell['runs']}" if cell and cell["runs"] < usual else ""
    return f"{accuracy(cell)}{runs}"


def verdicts(numbers: Numbers) -> list[Verdict]:
    """None: the paper says nothing of these."""
    return []
