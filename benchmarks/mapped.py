"""Memory that a graph takes which is mapped and not read: python benchmarks/mapped.py

Random edges, features and labels are written as a folder of arrays, made a mapped graph, inspected and opened; each is
a process of its own, one thread. What counts is memory that is no page of a file (RssAnon, looked at every few
milliseconds): pages of mapped files are there while there is room for them. The same commands on a graph of a thousand
nodes say what the program takes by itself. Written to benchmarks/results/mapped.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from confgcn.data.npy import growing_npy

RESULTS = Path(__file__).parent / "results" / "mapped.json"
SIZES = (1_000, 1_000_000, 4_000_000)
READABLE = 1_000_000  # nodes: the features of more are not read into memory
EDGES_PER_NODE, FEATURES, CLASSES, LABELLED = 6.4, 128, 40, 0.1
PAUSE = 0.005  # seconds between two looks
ROWS = 10_000  # written together
OPENING = """
import sys, time
from pathlib import Path
from confgcn.data import open_store
started = time.perf_counter()
graph = open_store(Path(sys.argv[1]))
print(time.perf_counter() - started)
"""


def main() -> None:
    """Measure, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--folder", help="where the graph is written for the time being")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        found = {str(nodes): measured(Path(folder) / str(nodes), nodes) for nodes in arguments.sizes}
    RESULTS.write_text(json.dumps({"date": datetime.date.today().isoformat(), **found}, indent=1) + "\n")


def measured(folder: Path, nodes: int) -> dict[str, Any]:
    """Sizes in bytes, and seconds and peak of the memory of every command."""
    arrays, store = folder / "arrays", folder / "store"
    write_arrays(arrays, nodes)
    found: dict[str, Any] = {"nodes": nodes, "edges_listed": round(EDGES_PER_NODE * nodes), "features": FEATURES}
    found["array_bytes"] = size_of(arrays)
    found["convert"] = watched("-m", "confgcn", "convert", str(arrays), "--out", str(store), "--mapped")
    found["mapped_bytes"] = size_of(store)
    found["inspect"] = watched("-m", "confgcn", "inspect", str(store))
    found["open"] = watched("-c", OPENING, str(store))
    shutil.rmtree(store)
    if nodes <= READABLE:
        found["inspect_in_memory"] = watched("-m", "confgcn", "inspect", str(arrays))
    shutil.rmtree(arrays)
    print(json.dumps(found, indent=1), flush=True)
    return found


def write_arrays(folder: Path, nodes: int) -> None:
    """A random graph as a folder of arrays, a tenth of its nodes labelled."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    np.save(folder / "edges.npy", random.integers(0, nodes, size=(round(EDGES_PER_NODE * nodes), 2)))
    with growing_npy(folder / "features.npy", np.float32, (FEATURES,)) as append:
        for first in range(0, nodes, ROWS):
            append(random.standard_normal((min(ROWS, nodes - first), FEATURES), dtype=np.float32))
    labels = random.integers(0, CLASSES, nodes)
    np.save(folder / "labels.npy", np.where(random.random(nodes) < LABELLED, labels, -1))


def watched(*words: str) -> dict[str, float]:
    """Run Python with these words; the largest RssAnon and RssFile that were seen, in bytes."""
    started, peak = time.perf_counter(), {"RssAnon": 0, "RssFile": 0}
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, env=environment) as child:
        while child.poll() is None:
            for name, size in resident(child.pid).items():
                peak[name] = max(peak[name], size)
            time.sleep(PAUSE)
        output = child.stdout.read() if child.stdout else ""
    if child.returncode:
        raise SystemExit(f"{' '.join(words)}: exit code {child.returncode}")
    seconds = float(output) if words[0] == "-c" else time.perf_counter() - started
    return {"seconds": round(seconds, 4), "peak_anonymous": peak["RssAnon"], "peak_mapped": peak["RssFile"]}


def resident(process: int) -> dict[str, int]:
    """Bytes of a process in memory that are its own, and those of files."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:  # it has just ended
        return {}
    return {line[:7]: int(line.split()[1]) * 1024 for line in lines if line.startswith(("RssAnon", "RssFile"))}


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.iterdir())


if __name__ == "__main__":
    main()
