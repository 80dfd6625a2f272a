"""Tables of docs/benchmarks.md, from what the benchmarks of workers recorded; see report.py."""

from __future__ import annotations

import json
import re
import statistics
from typing import Any

from capacity import GB, PRESETS, Plan, Rows, Shares, plan, shares_of
from recorded import EXACTNESS, PARTS_ACCURACY, TWO_HOSTS, WORKERS
from speed_tables import table

PLANNED_NODES, PLANNED_EDGES = 1e8, 1e9
PLANNED_CUTS = (0.01, 0.05, 0.2)
EPOCHS = 200


def blocks() -> dict[str, str]:
    """Every table by the name of its place."""
    rows = json.loads(WORKERS.read_text())
    return {
        "exactness": exactness_table(json.loads(EXACTNESS.read_text())),
        "accuracy in parts": accuracy_table(json.loads(PARTS_ACCURACY.read_text())),
        "memory of runs": run_table([row for row in rows if row["what"] == "run"]),
        "steps in parts": step_table([row for row in rows if row["what"] == "step"]),
        "cuts": cut_table([row for row in rows if row["what"] == "cut"]),
        "two hosts": two_hosts_text(json.loads(TWO_HOSTS.read_text())),
        "shares": shares_table(rows),
        "plan": plan_table(rows),
    }


def exactness_table(rows: Rows) -> str:
    """The largest distance over presets."""
    lines = []
    for precision in ("float64", "float32"):
        for workers in sorted({row["workers"] for row in rows}):
            cells = []
            for graph in ("cora", "pubmed", "clustered"):
                chosen = [
                    row
                    for row in rows
                    if (row["precision"], row["workers"], row["graph"]) == (precision, workers, graph)
                ]
                cells.append(" / ".join(f"{max(row[name] for row in chosen):.0e}" for name in ("loss", "gradient")))
            lines.append([precision, str(workers), *cells])
    return table(["loss / gradients off by", "workers", "cora", "pubmed", "clustered, 100,000 nodes"], lines)


def accuracy_table(rows: Rows) -> str:
    """Mean and deviation over seeds."""
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    lines = []
    for workers in sorted({row["workers"] for row in rows}):
        cells = []
        for graph in graphs:
            found = [100 * row["accuracy"] for row in rows if (row["graph"], row["workers"]) == (graph, workers)]
            spread = f" ± {statistics.stdev(found):.1f} ({len(found)} seeds)" if len(found) > 1 else " (one seed)"
            cells.append(f"{statistics.mean(found):.1f}{spread}" if found else "not measured")
        lines.append([str(workers), *cells])
    titles = [f"{graph}, {next(row['of'] for row in rows if row['graph'] == graph)[:-9]}, %" for graph in graphs]
    return table(["workers", *titles], lines)


def run_table(rows: Rows) -> str:
    """Memory of every process over a whole run."""
    lines = []
    for size in sorted({row["nodes"] for row in rows}):
        for preset in PRESETS:
            if {row["workers"] for row in rows if (row["nodes"], row["preset"]) == (size, preset)} != {1, 2}:
                continue
            alone, two = (_last(rows, nodes=size, preset=preset, workers=workers) for workers in (1, 2))
            whole = alone["peaks"][0]
            first = sorted(two["peaks"], reverse=True)
            lines.append(
                [
                    f"{size:,}",
                    f"`{preset}`",
                    f"{whole / GB:.2f}",
                    ", ".join(f"{peak / GB:.2f}" for peak in first),
                    ", ".join(f"{100 * peak / whole:.0f} %" for peak in first),
                ]
            )
    return table(["nodes", "preset", "one process, GB", "each of two workers, GB", "of one process"], lines)


def step_table(rows: Rows) -> str:
    """Seconds of a step, medians over rounds, and what is sent."""
    lines = []
    for size in sorted({row["nodes"] for row in rows}):
        for preset in PRESETS:
            alone, threads, metis, hashed = (
                [row for row in rows if (row["nodes"], row["preset"]) == (size, preset) and is_it(row)]
                for is_it in (
                    lambda row: (row["workers"], row["threads"]) == (1, 1),
                    lambda row: (row["workers"], row["threads"]) == (1, 2),
                    lambda row: (row["workers"], row["by"]) == (2, "metis"),
                    lambda row: (row["workers"], row["by"]) == (2, "hash"),
                )
            )
            times = [_median(found, "seconds") for found in (alone, threads, metis, hashed)]
            sent = [_median(found, "bytes_per_step") / 1e6 for found in (metis, hashed)]
            peaks = [100 * _median(found, "peak") / _median(alone, "peak") for found in (metis, hashed)]
            lines.append(
                [
                    f"{size:,}",
                    f"`{preset}`",
                    f"{times[0]:.2f}",
                    *(f"{times[0] / seconds:.2f}" for seconds in times[1:]),
                    *(f"{megabytes:.1f}" for megabytes in sent),
                    *(f"{peak:.0f} %" for peak in peaks),
                ]
            )
    head = ["nodes", "preset", "one process, s", "two threads, times as fast", "2 workers, METIS", "2 workers, hash"]
    head += ["MB sent, METIS", "hash", "memory of a worker, METIS", "hash"]
    return table(head, lines)


def cut_table(rows: Rows) -> str:
    """What cutting takes."""
    lines = []
    base = min(row["peak_anonymous"] for row in rows)
    for size in sorted({row["nodes"] for row in rows}):
        for how in ("metis", "hash"):
            row = _last(rows, nodes=size, by=how)
            beyond = (row["peak_anonymous"] - base) / row["edge_list"]
            above = f"{beyond:.1f}" if size > min(other["nodes"] for other in rows) else "-"
            crossing = f"{100 * row['crossing']:.1f} %"
            lines.append(
                [f"{size:,}", how, f"{row['seconds']:.0f}", f"{row['peak_anonymous'] / 1e6:.0f}", above, crossing]
            )
    return table(["nodes", "cut by", "seconds", "MB", "times the edge list, beyond the program", "edges cut"], lines)


def two_hosts_text(found: dict[str, Any]) -> str:
    """What was seen, and what each host said."""
    same = "the same bytes" if found["same_as_one_host"] else "OTHER bytes"
    lines = [f"- 40 epochs on the demo graph: {same} as two workers on one host, {found['seconds']:.0f} s."]
    same = "the same bytes" if found["same_when_restarted"] else "OTHER bytes"
    waits = " and ".join(f"{seconds:.0f} s" for seconds in found["seconds_to_go_on"])
    lines.append(
        "- `--max-restarts 2`, the worker of either host killed in turn: the next checkpoint after "
        f"{waits}, and in the end {same} as without."
    )
    for host, (seconds, said) in enumerate(zip(found["seconds_after_cut"], found["errors_after_cut"], strict=True)):
        words = " ".join(re.sub(r"\(process \d+ on \w+\)|:\d+(?=,)", "...", text) for text in said)
        lines.append(f"- Link cut, host {host + 1}: ended after {seconds:.0f} s; `{words}`")
    return "\n".join([*lines, f"- {found['date']}."]) + "\n"


def shares_table(rows: Rows) -> str:
    """What a node, an entry and a borrowed row take."""
    titles = {
        "program_bytes": ("the program, MB", 1e6),
        "node_bytes": ("a node, bytes", 1.0),
        "entry_bytes": ("an entry, bytes", 1.0),
        "node_seconds": ("a node and step, µs", 1e-6),
        "entry_seconds": ("an entry and step, µs", 1e-6),
        "borrowed_bytes": ("sent for a borrowed row and step, bytes", 1.0),
    }
    shares = {preset: shares_of(rows, preset) for preset in PRESETS}
    lines = [[title, *(_number(shares[p], name, unit) for p in PRESETS)] for name, (title, unit) in titles.items()]
    return table(["", *(f"`{preset}`" for preset in PRESETS)], lines)


def plan_table(rows: Rows) -> str:
    """For every preset and cut."""
    lines = []
    for preset in PRESETS:
        shares = shares_of(rows, preset)
        lines += [_planned(preset, plan(shares, PLANNED_NODES, PLANNED_EDGES, cut)) for cut in PLANNED_CUTS]
    head = ["preset", "edges cut", "machines", "GB each", "GB sent a step, each", "s computing", "s sending"]
    return table([*head, f"hours, {EPOCHS} epochs", "GB of the first at the end"], lines)


def _planned(preset: str, found: Plan) -> list[str]:
    numbers = [f"{found.gigabytes:.0f}", f"{found.sent:.1f}", f"{found.compute:.1f}", f"{found.exchange:.1f}"]
    return [
        f"`{preset}`",
        f"{100 * found.cut:.0f} %",
        str(found.machines),
        *numbers,
        f"{found.hours(EPOCHS):.1f}",
        f"{found.first:.0f}",
    ]


def _number(shares: Shares, name: str, unit: float) -> str:
    value = getattr(shares, name) / unit
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _median(rows: Rows, name: str) -> float:
    return statistics.median(row[name] for row in rows)


def _last(rows: Rows, **wanted: Any) -> dict[str, Any]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())][-1]
