"""Memory that a graph takes which is mapped and not read: python benchmarks/mapped.py

Random edges, features and labels are written as a folder of arrays, made a mapped graph, inspected, opened, sampled and
partitioned by hash; each is a process of its own, one thread. What counts is memory that is no page of a file (RssAnon,
looked at every few milliseconds): pages of mapped files are there while there is room for them. The same commands on a
graph of a thousand nodes say what the program takes by itself. Written to benchmarks/results/mapped.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from resident import Watched

from confgcn.data.formats.array_files import npy_writer

RESULTS = Path(__file__).parent / "results" / "mapped.json"
SIZES = (1_000, 1_000_000, 4_000_000)
READABLE = 1_000_000  # nodes: the features of more are not read into memory
EDGES_PER_NODE, FEATURES, CLASSES, LABELLED = 6.4, 128, 40, 0.1
ROWS = 10_000  # written together
OPENING = """
import sys, time
from pathlib import Path
from confgcn.data.formats.store import open_store
started = time.perf_counter()
graph = open_store(Path(sys.argv[1]))
print(time.perf_counter() - started)
"""
SAMPLING = """
import sys, time
from pathlib import Path
import torch
from confgcn.data.formats.store import open_store
from confgcn.graph.sampling import NeighbourSampler
started = time.perf_counter()
graph = open_store(Path(sys.argv[1]))
sampler = NeighbourSampler(graph, fanout=10, depth=2)
for _ in range(20):
    sampler.draw(torch.randint(graph.num_nodes, (1024,)).unique())
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
    found["sample"] = watched("-c", SAMPLING, str(store))
    cut = ("partition", str(store), "--shards", "2", "--by", "hash", "--out", str(folder / "shards"))
    found["partition"] = watched("-m", "confgcn", *cut)
    shutil.rmtree(folder / "shards")
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
    with npy_writer(folder / "features.npy", np.float32, (FEATURES,)) as append:
        for first in range(0, nodes, ROWS):
            append(random.standard_normal((min(ROWS, nodes - first), FEATURES), dtype=np.float32))
    labels = random.integers(0, CLASSES, nodes)
    np.save(folder / "labels.npy", np.where(random.random(nodes) < LABELLED, labels, -1))


def watched(*words: str) -> dict[str, float]:
    """Run Python with these words: seconds, and the largest sizes of its own memory and of pages of files, in bytes."""
    ended = Watched(*words)
    seconds = float(ended.output) if words[0] == "-c" else ended.seconds
    peaks = ended.peaks[0]
    return {"seconds": round(seconds, 4), "peak_anonymous": peaks["anonymous"], "peak_mapped": peaks["mapped"]}


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.iterdir())


if __name__ == "__main__":
    main()
