"""Tables of the baselines beside Table 2 of the paper: accuracy, other presets, time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SECONDS = Path(__file__).parent / "results" / "baseline_seconds.json"
GRAPHS = ("citeseer", "cora", "pubmed", "cora_ml")
# Table 2: accuracy and, where it is printed, the standard deviation.
TABLE_2: dict[str, dict[str, tuple[float, float | None]]] = {
    "feat": {"citeseer": (57.2, None), "cora": (57.4, None), "pubmed": (69.8, None)},
    "label_propagation": {"citeseer": (45.3, None), "cora": (68.0, None), "pubmed": (63.0, None)},
    "mani_reg": {"citeseer": (60.1, None), "cora": (59.5, None), "pubmed": (70.7, None)},
    "semi_emb": {"citeseer": (59.6, None), "cora": (59.0, None), "pubmed": (71.1, None)},
    "deepwalk": {"citeseer": (43.2, None), "cora": (67.2, None), "pubmed": (65.3, None)},
    "planetoid": {"citeseer": (64.9, None), "cora": (75.7, None), "pubmed": (75.7, None)},
    "gcn": {"citeseer": (69.4, 0.4), "cora": (80.9, 0.4), "pubmed": (76.8, 0.2), "cora_ml": (85.7, 0.3)},
    "gated_gcn": {"citeseer": (69.6, 0.5), "cora": (81.2, 0.4), "pubmed": (77.0, 0.3), "cora_ml": (86.0, 0.2)},
    "ggnn": {"citeseer": (68.1, None), "cora": (77.9, None), "pubmed": (77.2, None)},
    "gpnn": {"citeseer": (68.1, 1.8), "cora": (79.0, 1.7), "pubmed": (73.6, 0.5), "cora_ml": (69.4, 2.3)},
    "gat": {"citeseer": (72.5, 0.7), "cora": (83.0, 0.7), "pubmed": (79.0, 0.3), "cora_ml": (83.0, 0.8)},
    "taco": {},
}
# The preset of each row: the first is the method's default.
PRESETS = {
    "feat": ("tuned", "reference"),
    "label_propagation": ("reference", "harmonic"),
    "mani_reg": ("tuned", "reference"),
    "semi_emb": ("tuned", "published_like"),
    "deepwalk": ("tuned", "reference"),
    "planetoid": ("tuned", "tuned_inductive", "transductive", "inductive"),
    "gcn": ("tuned", "reference"),
    "gated_gcn": ("tuned", "reference", "printed", "node_gate"),
    "ggnn": ("tuned", "reference"),
    "gpnn": ("tuned", "reference"),
    "gat": ("lowest_loss", "reference"),
    "taco": ("tuned", "reference"),
}
MARGIN = 1.0  # of a figure that is printed without its deviation


def blocks(rows: dict[str, Any]) -> dict[str, str]:
    """The tables by name."""
    return {
        "baselines": _table("test accuracy, %", rows, _beside_paper, main_table=True),
        "baseline presets": _table("test accuracy, %", rows, _plain),
        "baseline seconds": _table("seconds of one run", json.loads(SECONDS.read_text()), _seconds, main_table=True),
    }


def in_main_table(method: str) -> tuple[str, ...]:
    """The presets that stand for a method: its default, and of Planetoid both variants."""
    return PRESETS[method][: 2 if method == "planetoid" else 1]


def bar(method: str, graph: str) -> float | None:
    """What a method has to reach: its figure in Table 2 less one standard deviation."""
    figure, deviation = TABLE_2[method].get(graph, (None, None))
    return None if figure is None else figure - (MARGIN if deviation is None else deviation)


def accuracy(row: dict[str, Any] | None) -> str:
    """A row's accuracy, or what became of it."""
    if row is None:
        return ""
    if "test_accuracy" not in row:
        return "failed"
    spread = row["test_accuracy_std"]
    shown = f"{100 * row['test_accuracy']:.1f}" + ("" if spread is None else f" ± {100 * spread:.1f}")
    failed = len(row["failures"])
    return f"{shown} ({failed} of {failed + row['seeds']} diverged)" if failed else shown


def _beside_paper(method: str, graph: str, row: dict[str, Any] | None) -> str:
    figure, deviation = TABLE_2[method].get(graph, (None, None))
    if figure is None or row is None or "test_accuracy" not in row:
        return accuracy(row)
    paper = f"{figure}" if deviation is None else f"{figure} ± {deviation}"
    lowest = bar(method, graph)
    below = "" if lowest is None or round(100 * row["test_accuracy"], 1) >= round(lowest, 1) else " †"
    return f"{accuracy(row)}{below} ({paper})"


def _plain(method: str, graph: str, row: dict[str, Any] | None) -> str:
    return accuracy(row)


def _seconds(method: str, graph: str, row: float | None) -> str:
    return "" if row is None else f"{row:.2g}"


def _table(corner: str, rows: dict[str, Any], cell: Any, *, main_table: bool = False) -> str:
    lines = [f"| {corner} | " + " | ".join(GRAPHS) + " |", "|---" * (len(GRAPHS) + 1) + "|"]
    for method, presets in PRESETS.items():
        for preset in in_main_table(method) if main_table else presets:
            found = [rows.get(f"{graph} --method {method} --preset {preset}") for graph in GRAPHS]
            cells = [cell(method, graph, row) for graph, row in zip(GRAPHS, found, strict=True)]
            lines.append(f"| {method} `{preset}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
