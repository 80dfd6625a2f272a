"""Tables of docs/benchmarks.md, from what minibatch.py recorded; see report.py."""

from __future__ import annotations

import json
import statistics
from typing import Any

from recorded import MINIBATCH
from speed_tables import table

HOW = {"full": "full batch", "samples": "on samples"}


def blocks() -> dict[str, str]:
    """Every table by the name of its place."""
    results = json.loads(MINIBATCH.read_text())
    return {
        "accuracy on samples": accuracy_table(results["accuracy"]),
        "memory on samples": memory_table(results["memory"]["all rows"]),
    }


def accuracy_table(results: dict[str, Any]) -> str:
    """Test and validation accuracy over the seeds that both ways have been run with."""
    rows = []
    for preset, runs in results.items():
        seeds = set.intersection(*({run["seed"] for run in runs[how]} for how in HOW))
        for how, title in HOW.items():
            chosen = [run for run in runs[how] if run["seed"] in seeds]
            cells = [spread([100 * run[part] for run in chosen]) for part in ("test", "validation")]
            epochs = f"{statistics.mean(run['best_epoch'] for run in chosen):.0f}"
            seconds = f"{statistics.mean(run['cpu'] for run in chosen):.0f}"
            rows.append([f"`{preset}`, {title}", str(len(chosen)), *cells, epochs, seconds])
    return table(["pubmed", "seeds", "test accuracy", "validation", "best epoch", "CPU seconds"], rows)


def memory_table(results: dict[str, Any]) -> str:
    """The last measurement of each."""
    rows = []
    for how, title in HOW.items():
        last = results[how][-1]
        peaks = [f"{last[f'peak_of_{part}_gb']:.1f}" for part in ("steps", "process")]
        nodes = f"{last['nodes_in_step']:,}"
        rows.append([title, *peaks, f"{last['cpu']:.2f}", nodes, f"{last['steps_in_epoch']:,}"])
    head = ["a million nodes", "GB while training", "GB of the process", "CPU seconds a step", "nodes in a step"]
    return table([*head, "steps an epoch"], rows)


def spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values) if len(values) > 1 else 0.0:.1f}"
