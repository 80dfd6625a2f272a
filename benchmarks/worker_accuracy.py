"""Accuracy of several workers and of one process, with dropout: python benchmarks/worker_accuracy.py [--graphs ...]

`confgcn train --workers K` for 1, 2 and 4 workers with the default preset; every worker draws its own dropout. Test
accuracy on cora and pubmed with five seeds; validation accuracy on a clustered graph of 100,000 nodes (clustered.py)
with two seeds and fifteen epochs. Written to benchmarks/results/worker_accuracy.json after each run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from clustered import clustered_graph
from recorded import append, read, table

from confgcn.data.formats.store_writing import arrays_of_graph, write_store

WORKERS = (1, 2, 4)
SYNTHETIC = 100_000
TASKS: dict[str, tuple[range, list[str], str]] = {  # seeds, options, metric
    "cora": (range(5), [], "test_accuracy"),
    "pubmed": (range(5), [], "test_accuracy"),
    "clustered": (range(2), ["--epochs", "15"], "validation_accuracy"),
}


def main() -> None:
    """One graph after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", nargs="*", default=tuple(TASKS))
    for name in parser.parse_args().graphs:
        with tempfile.TemporaryDirectory() as folder:
            measure(name, Path(folder))


def measure(name: str, folder: Path) -> None:
    """Every seed with every number of workers."""
    graph = name
    if name == "clustered":
        graph = str(write_store(arrays_of_graph(clustered_graph(SYNTHETIC)), folder / "graph"))
    seeds, options, compared = TASKS[name]
    for seed, workers in product(seeds, WORKERS):
        words = ["train", graph, "--seed", str(seed), *options, "--workers", str(workers), "--json"]
        command = [sys.executable, "-m", "confgcn", *words, "--out", str(folder / f"{seed}-{workers}")]
        summary = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        row = {"graph": name, "workers": workers, "seed": seed, "of": compared, "accuracy": summary[compared]}
        append("worker_accuracy", {**row, "epochs": summary["runs"][0]["epochs"], "seconds": summary["seconds"]})


def blocks() -> dict[str, str]:
    """The table, by the name of its place in the documents."""
    return {"accuracy by workers": accuracy_table(read("worker_accuracy"))}


def accuracy_table(rows: list[dict[str, Any]]) -> str:
    """Mean ± standard deviation over seeds."""
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


if __name__ == "__main__":
    main()
