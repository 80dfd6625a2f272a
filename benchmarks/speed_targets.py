"""The speed targets and the results of speed.py and scaling.py."""

from __future__ import annotations

import statistics
from typing import Any

from recorded import GRAPHS, PATHS, read, table
from scaling import SCALED, hub_ratio
from speed import ratio

# Title, variant, baseline, highest ratio with pure and with compiled kernels, and exceptions for single graphs.
TARGETS: tuple[tuple[str, str, str, dict[str, float], dict[str, dict[str, float]]], ...] = (
    ("all rows relative to PyG GCN", "all rows", "PyG GCN", {"pure": 1.2, "compiled": 0.40}, {}),
    ("all rows relative to PyG GAT", "all rows", "PyG GAT", {"pure": 0.45, "compiled": 0.15}, {}),
    (
        "`released` relative to PyG GCN",
        "released",
        "PyG GCN",
        {"pure": 0.70, "compiled": 0.15},
        {"pubmed": {"pure": 0.20}, "cora_ml": {"compiled": 0.25}},
    ),
)


def blocks() -> dict[str, str]:
    """The table, by the name of its place in the documents."""
    return {"speed targets": target_table(read("speed"), read("scaling"))}


def target_table(epochs: dict[str, Any], large: dict[str, Any]) -> str:
    """Every target and the result; missed targets are bold."""
    rows = []
    for title, variant, baseline, usual, special in TARGETS:
        for graph in GRAPHS:
            targets = {**usual, **special.get(graph, {})}
            reached = {path: ratio(epochs, graph, f"{variant}, {path}", baseline) for path in PATHS}
            rows.append([f"{title}, {graph}", *_cells(targets, reached)])
    million = large["size"]["1000000"]
    times = {who: [row["cpu"] for row in found if "cpu" in row] for who, found in million.items()}
    baseline_seconds = statistics.median(times["PyG GCN, compressed adjacency"])
    targets = {"pure": 1.2, "compiled": 0.40}
    for variant in SCALED:
        reached = {path: statistics.median(times[f"{variant}, {path}"]) / baseline_seconds for path in PATHS}
        rows.append(
            [f"10^6 nodes, {variant}, relative to PyG GCN with a compressed adjacency", *_cells(targets, reached)]
        )
    peak = max(row["peak_gb"] for row in million["released, compiled"])
    rows.append(["10^6 nodes, peak GB", "", "", *_cells({"compiled": 3.0}, {"compiled": peak})[2:]])
    hubs = {path: hub_ratio(large["hub"][path]) for path in PATHS}
    rows.append(["star with 10^6 leaves relative to a path", *_cells({"pure": 1.5, "compiled": 1.5}, hubs)])
    return table(["one thread, ratio of medians", "target, pure", "result", "target, compiled", "result"], rows)


def _cells(targets: dict[str, float], reached: dict[str, float]) -> list[str]:
    cells = []
    for path in PATHS:
        value = f"{reached[path]:.2f}" if path in reached else ""
        missed = path in reached and reached[path] > targets[path]
        cells += [f"{targets[path]:.2f}" if path in targets else "", f"**{value}**" if missed else value]
    return cells
