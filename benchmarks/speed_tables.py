"""Tables and the picture of docs/benchmarks.md, from what speed.py, scaling.py and limits.py recorded."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from recorded import CONTESTANTS, GRAPHS, LIMITS, SCALED, SCALING, SPEED

from reproduction.plots import plot_style

VARIANTS = ("all rows", "paper", "released")
PATHS = ("pure", "compiled")
ANCHORS = ("PyG GCN", "PyG GAT")
HUB_SHAPES = ("star", "even")


def blocks() -> dict[str, str]:
    """Every table by the name of its place."""
    epochs = json.loads(SPEED.read_text())
    large = json.loads(SCALING.read_text())
    return {
        "ratios in short": short_table(epochs),
        "ratios": ratio_table(epochs, suffix=""),
        "ratios with evaluation": ratio_table(epochs, suffix=" + evaluation"),
        "epochs": epoch_table(epochs),
        "scaling": scaling_table(large["size"]),
        "hub": hub_table(large["hub"]),
        "limits": limit_table(json.loads(LIMITS.read_text())),
        "marks": mark_table(epochs, large),
    }


def table(head: list[str], rows: list[list[str]]) -> str:
    """In Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def ratio(epochs: dict[str, Any], graph: str, ours: str, theirs: str) -> float:
    """Of median CPU times."""
    times = epochs[graph]["milliseconds"]
    return times[ours]["cpu"] / times[theirs]["cpu"]


def ratio_table(epochs: dict[str, Any], *, suffix: str) -> str:
    """Our epoch over that of PyG with compressed features."""
    rows = []
    for variant in (*VARIANTS, "gcn"):
        for path in PATHS:
            for anchor in ANCHORS:
                ours, theirs = f"{variant}, {path}{suffix}", f"{anchor}{suffix}"
                cells = [f"{ratio(epochs, graph, ours, theirs):.2f}" for graph in GRAPHS]
                rows.append([f"{_title(variant)}, {path}", anchor, *cells])
    return table(["CPU time per epoch", "over that of", *GRAPHS], rows)


def short_table(epochs: dict[str, Any]) -> str:
    """What a newcomer wants to know."""
    rows = []
    for variant, path in (("released", "compiled"), ("all rows", "compiled"), ("all rows", "pure")):
        cells = [" / ".join(f"{ratio(epochs, g, f'{variant}, {path}', a):.2f}" for a in ANCHORS) for g in GRAPHS]
        rows.append([f"{_title(variant)}, {path}", *cells])
    return table(["epoch over that of PyG's GCN / GAT", *GRAPHS], rows)


def epoch_table(epochs: dict[str, Any]) -> str:
    """Milliseconds, CPU and wall."""
    titles = list(epochs[GRAPHS[0]]["milliseconds"])
    rows = []
    for title in titles:
        times = [epochs[graph]["milliseconds"][title] for graph in GRAPHS]
        rows.append([title, *(f"{row['cpu']:.2f} ({row['wall']:.2f})" for row in times)])
    return table(["ms per epoch, CPU (wall)", *GRAPHS], rows)


def scaling_table(sizes: dict[str, Any]) -> str:
    """Seconds and gigabytes by size."""
    rows = []
    for who in CONTESTANTS:
        rows.append([who, *(_large_cell(sizes[size].get(who, [])) for size in sizes)])
    return table(["CPU s per epoch (peak GB)", *(f"{int(size):,} nodes" for size in sizes)], rows)


def hub_table(found: dict[str, Any]) -> str:
    """A star against the same edges spread evenly."""
    rows = []
    for path in PATHS:
        star, even = (statistics.median(row["cpu"] for row in found[path][shape]) for shape in HUB_SHAPES)
        rows.append([path, f"{star:.2f}", f"{even:.2f}", f"{_hub_ratio(found[path]):.2f}"])
    return table(["kernels", "a hub of 10^6 neighbours, CPU s", "the same edges in a row, CPU s", "ratio"], rows)


def limit_table(found: dict[str, Any]) -> str:
    """Where the time goes and how far it is from the speed of memory."""
    rows = []
    for graph, row in found["graphs"].items():
        cells = [f"{row[key]:.2f}" for key in ("epoch", "six_nodes", "kernels", "limit")]
        slowest = ", ".join(f"{name} {ms:.2f}" for name, ms in list(row["by_kernel"].items())[:3])
        rows.append(
            [graph, *cells, f"{row['epoch'] / row['limit']:.0f}", f"{row['kernels'] / row['limit']:.0f}", slowest]
        )
    head = ["ms of CPU", "epoch", "the same on six nodes", "in kernels", "limit", "epoch / limit", "kernels / limit"]
    return table([*head, "slowest kernels"], rows)


# What was set out to be reached: title, variant, anchor, highest ratio pure and compiled, and those of single graphs.
MARKS: tuple[tuple[str, str, str, dict[str, float], dict[str, dict[str, float]]], ...] = (
    ("all rows over PyG GCN", "all rows", "PyG GCN", {"pure": 1.2, "compiled": 0.40}, {}),
    ("all rows over PyG GAT", "all rows", "PyG GAT", {"pure": 0.45, "compiled": 0.15}, {}),
    (
        "`released` over PyG GCN",
        "released",
        "PyG GCN",
        {"pure": 0.70, "compiled": 0.15},
        {"pubmed": {"pure": 0.20}, "cora_ml": {"compiled": 0.25}},
    ),
)


def mark_table(epochs: dict[str, Any], large: dict[str, Any]) -> str:
    """Every mark and what was reached; in bold what was not."""
    rows = []
    for title, variant, anchor, usual, special in MARKS:
        for graph in GRAPHS:
            marks = {**usual, **special.get(graph, {})}
            reached = {path: ratio(epochs, graph, f"{variant}, {path}", anchor) for path in PATHS}
            rows.append([f"{title}, {graph}", *_against(marks, reached)])
    million = large["size"]["1000000"]
    times = {who: [row["cpu"] for row in found if "cpu" in row] for who, found in million.items()}
    theirs = statistics.median(times["PyG GCN, compressed adjacency"])
    marks = {"pure": 1.2, "compiled": 0.40}
    for variant in SCALED:
        reached = {path: statistics.median(times[f"{variant}, {path}"]) / theirs for path in PATHS}
        rows.append([f"10^6 nodes, {variant}, over PyG GCN on a compressed adjacency", *_against(marks, reached)])
    peak = max(row["peak_gb"] for row in million["released, compiled"])
    rows.append(["10^6 nodes, peak GB", "", "", *_against({"compiled": 3.0}, {"compiled": peak})[2:]])
    hubs = {path: _hub_ratio(large["hub"][path]) for path in PATHS}
    rows.append(["a hub of 10^6 over the same edges spread evenly", *_against({"pure": 1.5, "compiled": 1.5}, hubs)])
    return table(["one thread, ratio of medians", "mark, pure", "pure", "mark, compiled", "compiled"], rows)


def _against(marks: dict[str, float], reached: dict[str, float]) -> list[str]:
    cells = []
    for path in PATHS:
        value = f"{reached[path]:.2f}" if path in reached else ""
        missed = path in reached and reached[path] > marks[path]
        cells += [f"{marks[path]:.2f}" if path in marks else "", f"**{value}**" if missed else value]
    return cells


def _hub_ratio(found: dict[str, Any]) -> float:
    star, even = (statistics.median(row["cpu"] for row in found[shape]) for shape in HUB_SHAPES)
    return star / even


def draw(folder: Path) -> None:
    """Ours over PyG's, for every graph; below the line is faster."""
    with plot_style():
        figure = _drawn(json.loads(SPEED.read_text()))
        figure.savefig(folder / "speed.svg", metadata={"Date": None})


def _drawn(epochs: dict[str, Any]) -> Any:
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.2), constrained_layout=True, sharey=True)
    styles = {
        ("all rows", "pure"): "s",
        ("all rows", "compiled"): "D",
        ("released", "pure"): "^",
        ("released", "compiled"): "o",
    }
    for axis, anchor in zip(axes, ANCHORS, strict=True):
        for (variant, path), marker in styles.items():
            heights = [ratio(epochs, graph, f"{variant}, {path}", anchor) for graph in GRAPHS]
            fill = "black" if path == "compiled" else "white"
            label = f"{variant}, {path}"
            axis.plot(GRAPHS, heights, marker, color="black", markerfacecolor=fill, label=label)
        axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
        axis.set(yscale="log", title=f"ConfGCN's epoch over that of {anchor}")
    axes[0].set_yticks([0.03, 0.1, 0.3, 1.0], ["0.03", "0.1", "0.3", "1"])
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _title(variant: str) -> str:
    return {"gcn": "our Kipf-GCN", "all rows": "ConfGCN, all rows"}.get(variant, f"ConfGCN `{variant}`")


def _large_cell(found: list[dict[str, Any]]) -> str:
    measured = [row for row in found if "cpu" in row]
    if not measured:
        short_of_memory = any("alloc" in row["failed"] or "MemoryError" in row["failed"] for row in found)
        return "out of memory" if short_of_memory else "failed" if found else ""
    return f"{statistics.median(row['cpu'] for row in measured):.3g} ({max(row['peak_gb'] for row in measured):.2f})"
