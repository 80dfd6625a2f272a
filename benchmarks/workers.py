"""Memory, time and messages of training with several workers: python benchmarks/workers.py [--sizes N] [--rounds R]

Clustered graphs (clustered.py: 6.4 undirected edges per node, 128 dense features, 40 classes), memory-mapped. Written
to benchmarks/results/workers.json after each measurement:

- cut: `confgcn partition` by METIS and by hash, time and anonymous memory;
- step: preset `released` with L_const over every node and dropout, and the default preset; one process with one thread,
  one with two, and 2 workers of one thread each, in turn; median seconds per step, peak memory of the steps, bytes
  sent by one worker per step;
- density: the same step of one process on a graph with twice as many edges;
- run: a complete `confgcn train` with one process and with 2 workers: peak memory of every process.
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
from capacity import GB, PRESETS, Rows
from clustered import EDGES_PER_NODE, clustered_graph
from recorded import append, read, table
from resident import MonitoredCommand, peak_bytes, reset_peak

from confgcn.data.formats.store_writing import arrays_of_graph, write_store
from confgcn.distributed.exchange import HaloExchange
from confgcn.distributed.process_group import joined_group
from confgcn.distributed.shard_files import ShardFolder
from confgcn.distributed.shards import load_all_shards, load_shard
from confgcn.graph import Graph
from confgcn.io.allocator import keep_freed_memory, return_freed_memory
from confgcn.runs.settings import RunSettings, make_method, resolve
from confgcn.training.group import SINGLE_PROCESS
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded

SIZES = (10_000, 100_000, 1_000_000)
STEPS = {10_000: 20, 100_000: 8, 1_000_000: 2}
CUTS = ("metis", "hash")
CONFIGURATIONS = (  # partition, workers, threads
    ("metis", 1, 1),
    ("metis", 1, 2),
    ("metis", 2, 1),
    ("hash", 2, 1),
    ("density", 1, 1),
)
DENSE = 100_000  # nodes of the graph that is also measured with twice as many edges
FIXED = {"feature_scaling": "none", "select": "last", "stop": "never"}
OPTIONS: dict[str, Any] = {
    **{f"lambda_{term}": 1.0 for term in ("smooth", "label", "const", "reg")},
    "gamma": 1.0,
    "distance_offset": 1.0,
    "dropout": 0.5,
    "doubled_l2": 0.01,
    "const_over": "all",
}


def main() -> None:
    """All sizes, or one measurement in a child process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--what", nargs="*", default=("cut", "step", "density", "run"))
    parser.add_argument("--workers", type=int, nargs="*", default=(1, 2), help="of whole runs")
    parser.add_argument("--make", nargs=3, metavar=("SIZE", "EDGES_PER_NODE", "FOLDER"), help="for a child")
    parser.add_argument("--measure", nargs=4, metavar=("SHARDS", "PRESET", "THREADS", "STEPS"), help="for a child")
    arguments = parser.parse_args()
    if arguments.make:
        size, edges_per_node, folder = arguments.make
        graph = clustered_graph(int(size), edges_per_node=float(edges_per_node))
        write_store(arrays_of_graph(graph), Path(folder))
    elif arguments.measure:
        shards, preset, threads, steps = arguments.measure
        measure(ShardFolder(Path(shards)), preset, int(threads), int(steps))
    else:
        for size in arguments.sizes:
            with tempfile.TemporaryDirectory() as folder:
                run(Path(folder), size, arguments.rounds, arguments.what, arguments.workers)


def run(folder: Path, size: int, rounds: int, what: Sequence[str], worker_counts: Sequence[int]) -> None:
    """Make and partition the graph, then measure the configurations in turn."""
    graph, about = folder / "graph", {"nodes": size}
    child(["--make", str(size), str(EDGES_PER_NODE), str(graph)])
    for how in CUTS if {"cut", "step"} & {*what} else ():
        found = cut(graph, folder / how, how)
        if "cut" in what:
            append("workers", {"what": "cut", **about, **found})
    if "density" in what and size == DENSE:
        child(["--make", str(size), str(2 * EDGES_PER_NODE), str(folder / "dense")])
        cut(folder / "dense", folder / "density", "hash")
    for _ in range(rounds if "step" in what else 0):
        for preset, (how, workers, threads) in product(PRESETS, CONFIGURATIONS):
            if not (folder / how).exists():
                continue
            words = ["--measure", str(folder / how), preset, str(threads), str(STEPS[size])]
            kind = {"what": "density" if how == "density" else "step", **about, "by": how}
            for found in child(words, workers):
                append("workers", {**kind, "preset": preset, "threads": threads, **found})
    for preset, workers in product(PRESETS if "run" in what else (), worker_counts):
        found = whole_run(folder, preset, workers)
        append("workers", {"what": "run", **about, "preset": preset, "workers": workers, **found})


def child(words: list[str], workers: int = 1) -> list[dict[str, Any]]:
    """The measurements of a child process or of several workers."""
    command = [sys.executable, __file__]
    if workers > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
        command = [sys.executable, *launcher, __file__]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}, {workers} workers: {done.stderr[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def cut(graph: Path, shards: Path, how: str) -> dict[str, Any]:
    """Partition the graph and write two shards."""
    words = ("partition", str(graph), "--shards", "2", "--by", how, "--out", str(shards))
    ended, record = MonitoredCommand("-m", "confgcn", *words), ShardFolder(shards).record
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
    """A run as users start it, with two epochs."""
    options = {**(OPTIONS if preset == "released" else {}), **FIXED, "epochs": 2}
    settings = [word for name, value in options.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    words = ("train", str(folder / "graph"), "--preset", preset, *settings, "--workers", str(workers))
    ended = MonitoredCommand("-m", "confgcn", *words, "--out", str(folder / f"{preset}-{workers}"))
    shutil.rmtree(folder / f"{preset}-{workers}")
    largest = sorted(peak["resident"] for peak in ended.peaks)[-workers:]  # the launcher is smaller
    return {"seconds": round(ended.seconds, 1), "peaks": largest}


def measure(folder: ShardFolder, preset: str, threads: int, steps: int) -> None:
    """Print the measurements of the whole graph or of the shard of this worker."""
    torch.set_num_threads(threads)
    settings = settings_of(preset)
    if "RANK" not in os.environ:
        print(json.dumps({"workers": 1, **measured(load_all_shards(folder), settings, steps, SINGLE_PROCESS)}))
        return
    with joined_group() as group:
        shard = load_shard(folder, group.rank, group.size)
        found = {"workers": group.size, "rank": group.rank, **measured(shard, settings, steps, group)}
        os.write(1, (json.dumps(found) + "\n").encode())  # one write: the workers share the stream


def measured(graph: Graph, settings: RunSettings, steps: int, group: Any) -> dict[str, Any]:
    """Median seconds, peak memory and bytes sent of the steps after the first."""
    (keep_freed_memory if group is SINGLE_PROCESS else return_freed_memory)()  # as the command line does
    with seeded(0):
        loop = TrainingLoop(make_method(graph, settings), graph, settings.recipe, group=group)
    halo = graph.halo
    loop.train_step()  # warm-up: builds what is cached
    lifetime = peak_bytes()
    reset_peak()
    sent, wall = sent_by(halo), []
    for _ in range(steps):
        began = time.perf_counter()
        loop.train_step()
        wall.append(time.perf_counter() - began)
    return {
        "seconds": statistics.median(wall),
        "peak": peak_bytes(),
        "lifetime_peak": max(lifetime, peak_bytes()),
        "bytes_per_step": (sent_by(halo) - sent) // steps,
        "borrowed": sum(halo.received_counts) if isinstance(halo, HaloExchange) else 0,
        "own": graph.num_nodes,
        "entries": graph.adjacency.num_entries,
    }


def sent_by(halo: Any) -> int:
    """Bytes sent so far; none without other workers."""
    return halo.bytes_sent if isinstance(halo, HaloExchange) else 0


def settings_of(preset: str) -> RunSettings:
    """The settings of a step of the preset."""
    options = OPTIONS if preset == "released" else {}
    return resolve("confgcn", preset, "", {**options, **FIXED})


def blocks() -> dict[str, str]:
    """The tables, by the name of their place in the documents."""
    rows = read("workers")
    return {
        "memory of runs": run_table([row for row in rows if row["what"] == "run"]),
        "steps by workers": step_table([row for row in rows if row["what"] == "step"]),
        "cuts": cut_table([row for row in rows if row["what"] == "cut"]),
    }


def run_table(rows: Rows) -> str:
    """Peak memory of every process over a whole run."""
    lines = []
    for size in sorted({row["nodes"] for row in rows}):
        for preset in PRESETS:
            if {row["workers"] for row in rows if (row["nodes"], row["preset"]) == (size, preset)} != {1, 2}:
                continue
            single, two = (_last(rows, nodes=size, preset=preset, workers=workers) for workers in (1, 2))
            one_process = single["peaks"][0]
            first = sorted(two["peaks"], reverse=True)
            lines.append(
                [
                    f"{size:,}",
                    f"`{preset}`",
                    f"{one_process / GB:.2f}",
                    ", ".join(f"{peak / GB:.2f}" for peak in first),
                    ", ".join(f"{100 * peak / one_process:.0f} %" for peak in first),
                ]
            )
    return table(["nodes", "preset", "one process, GB", "each of two workers, GB", "share of one process"], lines)


def step_table(rows: Rows) -> str:
    """Seconds per step, medians over rounds, and bytes sent."""
    lines = []
    for size in sorted({row["nodes"] for row in rows}):
        for preset in PRESETS:
            single, threads, metis, hashed = (
                [row for row in rows if (row["nodes"], row["preset"]) == (size, preset) and selects(row)]
                for selects in (
                    lambda row: (row["workers"], row["threads"]) == (1, 1),
                    lambda row: (row["workers"], row["threads"]) == (1, 2),
                    lambda row: (row["workers"], row["by"]) == (2, "metis"),
                    lambda row: (row["workers"], row["by"]) == (2, "hash"),
                )
            )
            times = [_median(found, "seconds") for found in (single, threads, metis, hashed)]
            sent = [_median(found, "bytes_per_step") / 1e6 for found in (metis, hashed)]
            peaks = [100 * _median(found, "peak") / _median(single, "peak") for found in (metis, hashed)]
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
    head = ["nodes", "preset", "one process, s", "speedup, two threads", "2 workers, METIS", "2 workers, hash"]
    head += ["MB sent, METIS", "MB sent, hash", "memory per worker, METIS", "memory per worker, hash"]
    return table(head, lines)


def cut_table(rows: Rows) -> str:
    """Time and memory of partitioning."""
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
    return table(
        ["nodes", "method", "seconds", "MB", "multiple of the edge list, without the program", "edges cut"], lines
    )


def _median(rows: Rows, name: str) -> float:
    return statistics.median(row[name] for row in rows)


def _last(rows: Rows, **wanted: Any) -> dict[str, Any]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())][-1]


if __name__ == "__main__":
    main()
