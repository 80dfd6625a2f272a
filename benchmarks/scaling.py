"""Time and memory per epoch on large random graphs, and the cost of a hub: python benchmarks/scaling.py

Each measurement runs in its own process with one thread; models are measured in turn. Written to
benchmarks/results/scaling.json after each measurement.

The graphs: 12.8 entries per node including its self loop, 128 dense features, 40 classes, 10 % of the nodes labelled.
"""

from __future__ import annotations

import argparse
import datetime
import json
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from recorded import PATHS, read, result_file, table, write
from resident import peak_bytes, reset_peak

from confgcn import kernels
from confgcn.graph import Graph
from confgcn.io.allocator import keep_freed_memory
from confgcn.runs.settings import resolve
from confgcn.runs.train import make_loop
from confgcn.training.loop import TrainingLoop

SIZES = (10_000, 100_000, 1_000_000)
STEPS = {10_000: 20, 100_000: 6, 1_000_000: 3}
EDGES_PER_NODE, FEATURES, CLASSES, LABELLED = 5.9, 128, 40, 0.1
HUB = 1_000_000
MEMORY = 16 * 2**30  # of a child process; a model that needs more is recorded as failed
SCALED = ("released", "all rows")  # variants of ConfGCN
MODELS = (
    "PyG GCN, compressed adjacency",
    "released, compiled",
    "released, pure",
    "all rows, compiled",
    "all rows, pure",
    "PyG GCN, edge_index",
    "PyG GAT, edge_index",
)
HUB_SHAPES = ("star", "even")

# Preset `released` with round values and every term of the objective, instead of the values for one of the graphs.
OPTIONS: dict[str, Any] = {
    **{f"lambda_{term}": 1.0 for term in ("smooth", "label", "const", "reg")},
    "gamma": 1.0,
    "distance_offset": 1.0,
    "dropout": 0.5,
    "doubled_l2": 0.01,
    "feature_scaling": "none",
}
OURS = {name: {**OPTIONS, "const_over": nodes} for name, nodes in zip(SCALED, ("labelled", "all"), strict=True)}


def main() -> None:
    """Measure all sizes and the hub, or one of them in a child process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--measure", nargs=2, metavar=("MODEL", "SIZE"))
    parser.add_argument("--hub", nargs=2, metavar=("SHAPE", "KERNELS"))
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
    torch.set_num_threads(1)
    if arguments.measure or arguments.hub:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if arguments.measure:
        print(json.dumps(measure(arguments.measure[0], int(arguments.measure[1]))))
    elif arguments.hub:
        print(json.dumps(measure_hub(*arguments.hub)))
    else:
        run_all(arguments.sizes, arguments.rounds, arguments.models)


def run_all(sizes: list[int], rounds: int, models: list[str]) -> None:
    """Every model on every size, in turn; running out of memory is recorded too."""
    jobs = [("size", str(size), who, ["--measure", who, str(size)]) for size in sizes for who in models]
    if sizes:
        jobs += [("hub", path, shape, ["--hub", shape, path]) for path in PATHS for shape in HUB_SHAPES]
    for _ in range(rounds):
        for kind, group, who, words in jobs:
            child = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True)
            found = json.loads(child.stdout) if child.returncode == 0 else {"failed": child.stderr[-200:]}
            print(kind, group, who, found, flush=True)
            record(kind, group, who, found)


def record(kind: str, group: str, who: str, found: dict[str, Any]) -> None:
    """Add one measurement to the results."""
    results = read("scaling") if result_file("scaling").is_file() else {}
    rows = results.setdefault(kind, {}).setdefault(group, {}).setdefault(who, [])
    rows.append({"date": datetime.date.today().isoformat(), **found})
    write("scaling", results)


def measure(who: str, size: int) -> dict[str, float]:
    """CPU and wall seconds per epoch (median), and the peak memory of training."""
    graph = random_graph(size)
    step = train_step(who, graph)
    step()  # warm-up: builds what is cached
    return repeated(step, STEPS[size])


def repeated(step: Callable[[], Any], count: int) -> dict[str, float]:
    """Medians over the steps, and their peak resident memory."""
    reset_peak()
    cpu, wall = [], []
    for _ in range(count):
        before = time.process_time(), time.perf_counter()
        step()
        cpu.append(time.process_time() - before[0])
        wall.append(time.perf_counter() - before[1])
    return {"cpu": statistics.median(cpu), "wall": statistics.median(wall), "peak_gb": peak_bytes() / 1e9}


def train_step(who: str, graph: Graph) -> Callable[[], Any]:
    """One training epoch of a model."""
    name, detail = who.split(", ")
    if name.startswith("PyG"):
        import peers

        edges = peers.compressed_edges(graph) if detail == "compressed adjacency" else peers.edge_index(graph)
        model = {"PyG GCN": peers.GCN, "PyG GAT": peers.GAT}[name]
        return peers.train_step(model(graph, dense=True, edges=edges), graph)
    kernels.use(detail)  # type: ignore[arg-type]
    return make_confgcn(graph, OURS[name]).train_step


def make_confgcn(graph: Graph, options: dict[str, Any]) -> TrainingLoop:
    """ConfGCN on a graph without validation nodes."""
    keep_freed_memory()  # as the command line does
    return make_loop(graph, resolve("confgcn", "released", graph.name, {**options, "select": "last"}))


def random_graph(size: int) -> Graph:
    """Random edges, features and labels."""
    random = np.random.default_rng(0)
    edges = random.integers(0, size, size=(round(EDGES_PER_NODE * size), 2))
    features = random.standard_normal((size, FEATURES), dtype=np.float32)
    train = np.sort(random.choice(size, round(LABELLED * size), replace=False))
    return Graph.build(edges, features, random.integers(0, CLASSES, size), train=train)


def measure_hub(shape: str, path: str) -> dict[str, float]:
    """An epoch on a star, or on a path with the same number of nodes and edges."""
    kernels.use(path)  # type: ignore[arg-type]
    last = np.arange(1, HUB + 1)
    first = np.zeros_like(last) if shape == "star" else last - 1
    order = np.random.default_rng(0).permutation(HUB + 1)  # so that neighbours are far apart in memory in both
    edges = order[np.stack([first, last], 1)]
    graph = Graph.build(edges, np.ones((HUB + 1, 8), np.float32), np.arange(HUB + 1) % 4, train=np.arange(1000))
    loop = make_confgcn(graph, OURS["all rows"])
    loop.train_step()
    return repeated(loop.train_step, 3)


def blocks() -> dict[str, str]:
    """The tables, by the name of their place in the documents."""
    results = read("scaling")
    return {"scaling": scaling_table(results["size"]), "hub": hub_table(results["hub"])}


def scaling_table(sizes: dict[str, Any]) -> str:
    """Seconds and peak memory by size."""
    rows = []
    for who in MODELS:
        rows.append([who, *(_large_cell(sizes[size].get(who, [])) for size in sizes)])
    return table(["CPU s per epoch (peak GB)", *(f"{int(size):,} nodes" for size in sizes)], rows)


def hub_table(found: dict[str, Any]) -> str:
    """A star against a path."""
    rows = []
    for path in PATHS:
        star, even = (statistics.median(row["cpu"] for row in found[path][shape]) for shape in HUB_SHAPES)
        rows.append([path, f"{star:.2f}", f"{even:.2f}", f"{hub_ratio(found[path]):.2f}"])
    return table(["kernels", "star with 10^6 leaves, CPU s", "path with as many edges, CPU s", "ratio"], rows)


def hub_ratio(found: dict[str, Any]) -> float:
    """Time of the star relative to the path."""
    star, even = (statistics.median(row["cpu"] for row in found[shape]) for shape in HUB_SHAPES)
    return star / even


def _large_cell(found: list[dict[str, Any]]) -> str:
    measured = [row for row in found if "cpu" in row]
    if not measured:
        short_of_memory = any("alloc" in row["failed"] or "MemoryError" in row["failed"] for row in found)
        return "out of memory" if short_of_memory else "failed" if found else ""
    return f"{statistics.median(row['cpu'] for row in measured):.3g} ({max(row['peak_gb'] for row in measured):.2f})"


if __name__ == "__main__":
    main()
