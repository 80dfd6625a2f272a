"""Figure 1: a node and its neighbours, as Kipf-GCN weighs them and as ConfGCN does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from confgcn.report.figure_style import new_figure
from confgcn.report.formatting import Numbers, decimal, percent, plain
from reproduction.tables import Table
from reproduction.verdict import Verdict, judged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOTE = (
    "Width of an edge: its weight over the mean of the neighbourhood. Shown is a node that is put right by influences "
    "one can tell apart, if there is one; else one that Kipf-GCN gets wrong and ConfGCN right, in the most mixed "
    "neighbourhood."
)
RADIUS = 1.0  # of the circle of neighbours
SIZE = 0.16  # of a node
WIDTH = 3.0  # of an edge of mean weight, in points
KINDS = ("gcn_wrong_confgcn_right", "lost_without_influence", "right_without_influence")
PRINTABLE = 0.001  # a share that a percentage with one digit can show
BAR = 0.3  # height of the largest confidence


def tables(numbers: Numbers) -> dict[str, Table]:
    """One table per data set: what the picture shows."""
    return {dataset: _table(found) for dataset, found in _shown(numbers).items()}


def draw(numbers: Numbers) -> Figure | None:
    """Left what Kipf-GCN sees, right what ConfGCN sees; the darker, the more of two scores is the wrong label's."""
    shown = _shown(numbers)
    if not shown:
        return None
    figure, axes = new_figure(rows=len(shown), columns=2)
    for (left, right), (dataset, found) in zip(axes, shown.items(), strict=True):
        node = found["node"]
        _draw_panel(left, node, weight="gcn_weight", scores="gcn_scores", bars=False)
        _draw_panel(right, node, weight="influence", scores="scores", bars=True)
        left.set_title(f"Kipf-GCN says {_says(node['gcn_says'])}", fontsize=8)
        right.set_title(f"{plain(found['preset'])} says {_says(node['confgcn_says'])}", fontsize=8)
        true, wrong = node["labels"]
        left.set_xlabel(f"a is node {node['name']} of {dataset},\nin truth {true}", fontsize=8)
        right.set_xlabel(f"shade: scores, bars: precisions,\nof {true} (white) and {wrong} (black)", fontsize=8)
    return figure


def _draw_panel(axis: Axes, node: Numbers, *, weight: str, scores: str, bars: bool) -> None:
    axis.set(xlim=(-1.9, 1.9), ylim=(-1.4, 1.3), aspect="equal", xticks=[], yticks=[])
    for spine in axis.spines.values():
        spine.set_visible(False)
    neighbours = sorted(node["neighbours"], key=lambda neighbour: not neighbour["is_node"])
    highest = max(value for neighbour in neighbours for value in neighbour["precision"])
    for place, neighbour in enumerate(neighbours):
        angle = 2 * math.pi * (place - 1) / max(1, len(neighbours) - 1)
        x, y = (0.0, 0.0) if neighbour["is_node"] else (RADIUS * math.cos(angle), RADIUS * math.sin(angle))
        axis.plot([0, x], [0, y], color="black", lw=WIDTH * neighbour[weight], zorder=1, solid_capstyle="butt")
        _draw_node(axis, x, y, neighbour, scores)
        if bars:
            _draw_bars(axis, x, y, neighbour["precision"], highest)


def _draw_node(axis: Axes, x: float, y: float, neighbour: Numbers, scores: str) -> None:
    from matplotlib.patches import Circle

    own, other = neighbour[scores]
    share = other / (own + other) if own + other > 0 else 0.5
    shade = 1.0 - min(1.0, max(0.0, share))
    axis.add_patch(Circle((x, y), SIZE, facecolor=str(shade), edgecolor="black", zorder=2))
    text = "a" if neighbour["is_node"] else neighbour["true_label"].replace("_", "\n")
    below = y - SIZE - 0.05
    if neighbour["is_node"]:
        axis.text(x, y, text, ha="center", va="center", fontsize=8, color="white" if shade < 0.5 else "black", zorder=3)
    else:
        axis.text(x, below, text, ha="center", va="top", fontsize=5.5, zorder=3)


def _draw_bars(axis: Axes, x: float, y: float, precision: list[float], highest: float) -> None:
    for step, (value, colour) in enumerate(zip(precision, ("white", "black"), strict=True)):
        height = BAR * max(0.0, value) / highest if highest > 0 else 0.0
        axis.bar(
            x + SIZE + 0.07 + 0.09 * step,
            height,
            width=0.08,
            bottom=y,
            color=colour,
            edgecolor="black",
            lw=0.6,
            zorder=3,
        )


def _says(says: Numbers) -> str:
    return f"{says['label']} ({percent(says['probability'], 0)} %)"


def _table(found: Numbers) -> Table:
    node = found["node"]
    true, wrong = node["labels"]
    header = ["", "true label", "weight in Kipf-GCN", "influence", f"score of {true}", f"of {wrong}"]
    header += [f"precision of {true}", f"of {wrong}"]
    rows = [_row(neighbour) for neighbour in node["neighbours"]]
    return Table(f"Node {node['name']} and its neighbours; weights over their mean.", header, rows)


def _row(neighbour: dict[str, Any]) -> list[str]:
    name = "the node" if neighbour["is_node"] else neighbour["name"]
    weights = [decimal(neighbour["gcn_weight"], 3), decimal(neighbour["influence"], 5)]
    pairs = [decimal(value, 4) for key in ("scores", "precision") for value in neighbour[key]]
    return [name, neighbour["true_label"], *weights, *pairs]


def _shown(numbers: Numbers) -> dict[str, Any]:
    """Data sets with a node to show."""
    return {dataset: found["shown"] for dataset, found in numbers["datasets"].items() if found["shown"]}


def verdicts(numbers: Numbers) -> list[Verdict]:
    """Are nodes put right by the influences? At least half of those that are put right would have to be."""
    cases, texts = [], []
    for dataset, found in numbers["datasets"].items():
        for preset in dict.fromkeys(count["preset"] for count in found["counts"]):
            counts = [count for count in found["counts"] if count["preset"] == preset]
            nodes, lost, won = (sum(count[key] for count in counts) for key in KINDS)
            cases.append(lost >= nodes / 2 > 0)
            texts.append(
                f"Runs of {preset} on {dataset}: {len(counts)}. In them ConfGCN gets {nodes} test nodes right that "
                f"Kipf-GCN gets wrong, a node counted in every run. Making the trained model's influences uniform "
                f"loses {lost} of them (half would make the claim hold) and wins {won} others."
            )
    texts += [_what_is_drawn(found) for found in _shown(numbers).values()]
    claim = "Figure 1: nodes that Kipf-GCN gets wrong are put right by the influences."
    return [Verdict(claim, judged(cases), " ".join(texts))]


def _what_is_drawn(found: Numbers) -> str:
    node = found["node"]
    away = max(abs(neighbour["influence"] - 1.0) for neighbour in node["neighbours"])
    distance = percent(away) if away >= PRINTABLE else f"{100 * away:.1g}"
    same = "the same" if node["uniform_says"]["label"] == node["confgcn_says"]["label"] else "another label"
    return (
        f"The picture shows node {node['name']} in run {found['seed']} of {found['preset']}: the influence that is "
        f"farthest from the mean of its neighbourhood is {distance} % away, and with all of them equal ConfGCN says "
        f"{same}."
    )
