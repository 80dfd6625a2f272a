"""Are several workers as accurate as one process, with dropout? python benchmarks/parts_accuracy.py [--graphs ...]

`confgcn train --workers K` for 1, 2 and 4 workers, the default preset and its dropout, which every worker draws for
itself: cora and pubmed with five seeds, accuracy on the test nodes; a clustered graph of 100,000 nodes
(clustered.py) with two seeds and fifteen epochs, on the validation nodes. Written to
benchmarks/results/parts_accuracy.json as they come.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

from clustered import clustered_graph
from recorded import PARTS_ACCURACY, append

from confgcn.data.formats.store_writing import arrays_of_graph, write_store

WORKERS = (1, 2, 4)
SYNTHETIC = 100_000
TASKS: dict[str, tuple[range, list[str], str]] = {  # seeds, options, what is compared
    "cora": (range(5), [], "test_accuracy"),
    "pubmed": (range(5), [], "test_accuracy"),
    "clustered": (range(2), ["--epochs", "15"], "validation_accuracy"),
}


def main() -> None:
    """One graph after the other; workers take turns."""
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
        append(PARTS_ACCURACY, {**row, "epochs": summary["runs"][0]["epochs"], "seconds": summary["seconds"]})


if __name__ == "__main__":
    main()
