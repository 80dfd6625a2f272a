"""Memory, seconds and messages of training in parts: python benchmarks/workers.py [--sizes N ...] [--rounds R]

Clustered graphs (clustered.py: 6.4 undirected edges a node, 128 dense features, 40 classes), mapped. Written to
benchmarks/results/workers.json as they come:

- cut: `confgcn partition` by METIS and by hash, seconds and memory that is no page of a file;
- step: preset `released` with L_const over every node and dropout, and the default preset; one process with one thread,
  one with two, and 2 workers of one thread each, taking turns; median seconds of a step, memory while stepping, bytes
  that one worker sends in a step;
- density: the same step of one process, of a graph with twice as many edges;
- run: `confgcn train` from the first to the last file, alone and with 2 workers: memory of every process at its most.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
from capacity import PRESETS
from clustered import EDGES_PER_NODE, clustered_graph
from recorded import WORKERS, append
from resident import Watched

from confgcn.data.formats.store_writing import arrays_of_graph, write_store
from confgcn.distributed.exchange import HaloExchange
from confgcn.distributed.process_group import joined_group
from confgcn.distributed.shard_files import ShardFolder
from confgcn.distributed.shards import load_shard, load_whole
from confgcn.graph import Graph
from confgcn.io.allocator import keep_freed_memory, return_freed_memory
from confgcn.runs.settings import RunSettings, make_method, resolve
from confgcn.training.group import SINGLE_PROCESS
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded

SIZES = (10_000, 100_000, 1_000_000)
STEPS = {10_000: 20, 100_000: 8, 1_000_000: 2}
CUTS = ("metis", "hash")
CONTESTANTS = (  # how it is cut, workers, threads
    ("metis", 1, 1),
    ("metis", 1, 2),
    ("metis", 2, 1),
    ("hash", 2, 1),
    ("density", 1, 1),
)
DENSE = 100_000  # nodes of the graph that is measured with twice as many edges too
CALM = {"feature_scaling": "none", "select": "last", "stop": "never"}
OPTIONS: dict[str, Any] = {
    **{f"lambda_{term}": 1.0 for term in ("smooth", "label", "const", "reg")},
    "gamma": 1.0,
    "distance_offset": 1.0,
    "dropout": 0.5,
    "doubled_l2": 0.01,
    "const_over": "all",
}


def main() -> None:
    """All sizes, or one measurement of a child process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--what", nargs="*", default=("cut", "step", "density", "run"))
    parser.add_argument("--workers", type=int, nargs="*", default=(1, 2), help="of whole runs")
    parser.add_argument("--make", nargs=3, metavar=("SIZE", "EDGES_PER_NODE", "FOLDER"), help="for a child")
    parser.add_argument("--measure", nargs=4, metavar=("SHARDS", "PRESET", "THREADS", "STEPS"), help="for a child")
    asked = parser.parse_args()
    if asked.make:
        size, edges_per_node, folder = asked.make
        graph = clustered_graph(int(size), edges_per_node=float(edges_per_node))
        write_store(arrays_of_graph(graph), Path(folder))
    elif asked.measure:
        shards, preset, threads, steps = asked.measure
        measure(ShardFolder(Path(shards)), preset, int(threads), int(steps))
    else:
        for size in asked.sizes:
            with tempfile.TemporaryDirectory() as folder:
                run(Path(folder), size, asked.rounds, asked.what, asked.workers)


def run(folder: Path, size: int, rounds: int, what: Sequence[str], asked_workers: Sequence[int]) -> None:
    """Make the graph and cut it, then let the contestants take turns."""
    graph, about = folder / "graph", {"nodes": size}
    child(["--make", str(size), str(EDGES_PER_NODE), str(graph)])
    for how in CUTS if {"cut", "step"} & {*what} else ():
        found = cut(graph, folder / how, how)
        if "cut" in what:
            append(WORKERS, {"what": "cut", **about, **found})
    if "density" in what and size == DENSE:
        child(["--make", str(size), str(2 * EDGES_PER_NODE), str(folder / "dense")])
        cut(folder / "dense", folder / "density", "hash")
    for _ in range(rounds if "step" in what else 0):
        for preset, (how, workers, threads) in product(PRESETS, CONTESTANTS):
            if not (folder / how).exists():
                continue
            words = ["--measure", str(folder / how), preset, str(threads), str(STEPS[size])]
            kind = {"what": "density" if how == "density" else "step", **about, "by": how}
            for found in child(words, workers):
                append(WORKERS, {**kind, "preset": preset, "threads": threads, **found})
    for preset, workers in product(PRESETS if "run" in what else (), asked_workers):
        found = whole_run(folder, preset, workers)
        append(WORKERS, {"what": "run", **about, "preset": preset, "workers": workers, **found})


def child(words: list[str], workers: int = 1) -> list[dict[str, Any]]:
    """What a child process, or several, have found."""
    command = [sys.executable, __file__]
    if workers > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
        command = [sys.executable, *launcher, __file__]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}, {workers} workers: {done.stderr[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def cut(graph: Path, shards: Path, how: str) -> dict[str, Any]:
    """Cut and write two shards."""
    words = ("partition", str(graph), "--shards", "2", "--by", how, "--out", str(shards))
    ended, record = Watched("-m", "confgcn", *words), ShardFolder(shards).record
    edges = record.entries - record.num_nodes
    return {
        "by": how,
        "seconds": round(ended.seconds, 2),
        "peak_anonymous": ended.peaks[0]["anonymous"],
        "crossing": record.crossing_edges / edges,
        "entries": record.entries,
        "edge_list": 16 * edges // 2,
    }


def whole_run(folder: Path, preset: str, workers: int) -> dict[str, Any]:
    """What users run: two epochs, and all that follows them."""
    options = {**(OPTIONS if preset == "released" else {}), **CALM, "epochs": 2}
    settings = [word for name, value in options.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    words = ("train", str(folder / "graph"), "--preset", preset, *settings, "--workers", str(workers))
    ended = Watched("-m", "confgcn", *words, "--out", str(folder / f"{preset}-{workers}"))
    shutil.rmtree(folder / f"{preset}-{workers}")
    largest = sorted(peak["resident"] for peak in ended.peaks)[-workers:]  # what starts the workers is smaller
    return {"seconds": round(ended.seconds, 1), "peaks": largest}


def measure(folder: ShardFolder, preset: str, threads: int, steps: int) -> None:
    """Print what the whole, or this worker's part, takes."""
    torch.set_num_threads(threads)
    settings = settings_of(preset)
    if "RANK" not in os.environ:
        print(json.dumps({"workers": 1, **measured(load_whole(folder), settings, steps, SINGLE_PROCESS)}))
        return
    with joined_group() as group:
        part = load_shard(folder, group.rank, group.size)
        found = {"workers": group.size, "rank": group.rank, **measured(part, settings, steps, group)}
        os.write(1, (json.dumps(found) + "\n").encode())  # in one piece: two workers share the stream


def measured(graph: Graph, settings: RunSettings, steps: int, group: Any) -> dict[str, Any]:
    (keep_freed_memory if group is SINGLE_PROCESS else return_freed_memory)()  # as the command line does
    with seeded(0):
        loop = TrainingLoop(make_method(graph, settings), graph, settings.recipe, group=group)
    halo = graph.halo
    loop.train_step()  # what is built once is built
    lifetime, _ = status("VmHWM"), forget_peak()
    sent, wall = sent_by(halo), []
    for _ in range(steps):
        began = time.perf_counter()
        loop.train_step()
        wall.append(time.perf_counter() - began)
    return {
        "seconds": statistics.median(wall),
        "peak": status("VmHWM"),
        "lifetime_peak": max(lifetime, status("VmHWM")),
        "bytes_per_step": (sent_by(halo) - sent) // steps,
        "borrowed": sum(halo.received_counts) if isinstance(halo, HaloExchange) else 0,
        "own": graph.num_nodes,
        "entries": graph.adjacency.num_entries,
    }


def sent_by(halo: Any) -> int:
    return halo.bytes_sent if isinstance(halo, HaloExchange) else 0


def settings_of(preset: str) -> RunSettings:
    options = OPTIONS if preset == "released" else {}
    return resolve("confgcn", preset, "", {**options, **CALM})


def status(name: str) -> int:
    """Bytes, from the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def forget_peak() -> None:
    """The largest resident set is counted anew."""
    Path("/proc/self/clear_refs").write_text("5")


if __name__ == "__main__":
    main()
