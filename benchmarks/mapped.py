"""Memory of commands on a memory-mapped graph: python benchmarks/mapped.py

A random graph is written as a folder of arrays, converted to a mapped graph, inspected, opened, sampled and partitioned
by hash, each in its own process with one thread. The peak of anonymous memory (RssAnon) is measured: the system can
drop pages of mapped files. The same commands on a graph of a thousand nodes give the memory of the program itself.
Written to benchmarks/results/mapped.json.
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
from recorded import read, table, write
from resident import MonitoredCommand

from confgcn.data.formats.array_files import npy_writer

SIZES = (1_000, 1_000_000, 4_000_000)
READABLE = 1_000_000  # nodes; larger graphs are not read into memory
EDGES_PER_NODE, FEATURES, CLASSES, LABELLED = 6.4, 128, 40, 0.1
ROWS = 10_000  # per write
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
    """Measure every size and record the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--folder", help="directory for the temporary graph")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        found = {str(nodes): measured(Path(folder) / str(nodes), nodes) for nodes in arguments.sizes}
    write("mapped", {"date": datetime.date.today().isoformat(), **found})


def measured(folder: Path, nodes: int) -> dict[str, Any]:
    """Sizes in bytes, and seconds and peak memory of every command."""
    arrays, store = folder / "arrays", folder / "store"
    write_arrays(arrays, nodes)
    found: dict[str, Any] = {"nodes": nodes, "edges_listed": round(EDGES_PER_NODE * nodes), "features": FEATURES}
    found["array_bytes"] = size_of(arrays)
    found["convert"] = monitored("-m", "confgcn", "convert", str(arrays), "--out", str(store), "--mapped")
    found["mapped_bytes"] = size_of(store)
    found["inspect"] = monitored("-m", "confgcn", "inspect", str(store))
    found["open"] = monitored("-c", OPENING, str(store))
    found["sample"] = monitored("-c", SAMPLING, str(store))
    cut = ("partition", str(store), "--shards", "2", "--by", "hash", "--out", str(folder / "shards"))
    found["partition"] = monitored("-m", "confgcn", *cut)
    shutil.rmtree(folder / "shards")
    shutil.rmtree(store)
    if nodes <= READABLE:
        found["inspect_in_memory"] = monitored("-m", "confgcn", "inspect", str(arrays))
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


def monitored(*words: str) -> dict[str, float]:
    """Run Python with these arguments: seconds, and the peaks of anonymous and of mapped memory, in bytes."""
    ended = MonitoredCommand(*words)
    seconds = float(ended.output) if words[0] == "-c" else ended.seconds
    peaks = ended.peaks[0]
    return {"seconds": round(seconds, 4), "peak_anonymous": peaks["anonymous"], "peak_mapped": peaks["mapped"]}


def size_of(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(file.stat().st_size for file in folder.iterdir())


def blocks() -> dict[str, str]:
    """The table, by the name of its place in the documents."""
    return {"mapped": mapped_table()}


def mapped_table() -> str:
    """Memory of a mapped graph, without that of the program on a small graph."""
    found = read("mapped")
    smallest, *sizes = [size for size in found if size.isdigit()]

    def additional(size: str, command: str) -> str:
        if command not in found[size]:
            return "refused" if command == "inspect_in_memory" else "not measured"
        return _megabytes(found[size][command]["peak_anonymous"] - found[smallest][command]["peak_anonymous"])

    rows = {
        "nodes": lambda size: f"{int(size):,}",
        "arrays, MB": lambda size: _megabytes(found[size]["array_bytes"]),
        "`convert --mapped`, MB": lambda size: additional(size, "convert"),
        "`inspect`, mapped, MB": lambda size: additional(size, "inspect"),
        "samples of 1,024 nodes, MB": lambda size: additional(size, "sample"),
        "`partition --by hash`, MB": lambda size: additional(size, "partition"),
        "`inspect`, read into memory, MB": lambda size: additional(size, "inspect_in_memory"),
        "`convert --mapped`, seconds": lambda size: f"{found[size]['convert']['seconds']:.0f}",
        "`open_store`, seconds": lambda size: f"{found[size]['open']['seconds']:.2f}",
    }
    cells = [[title, *map(show, sizes)] for title, show in rows.items()]
    header, *others = [row for row in cells if {*row[1:]} != {"not measured"}]
    return f"{table(header, others)}\n{found['date']}, `python benchmarks/mapped.py`.\n"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f}"


if __name__ == "__main__":
    main()
