"""Memory, seconds and messages of training in parts: python benchmarks/workers.py [--sizes N ...] [--rounds R]

Clustered graphs (clustered.py: 6.4 undirected edges a node, 128 dense features, 40 classes), cut by METIS or by hash;
preset `released` with L_const over every node and dropout, and the default preset. Contestants are one process with one
thread, one with two, and 2 workers of one thread each, taking turns. Written to benchmarks/results/workers.json as they
come: seconds of a step (median), the largest resident set while stepping and over the whole life of the process, bytes
sent in a step by one worker.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from clustered import clustered_graph
from recorded import WORKERS

from confgcn.distributed.exchange import HaloExchange
from confgcn.distributed.process_group import joined_group
from confgcn.distributed.shard_files import ShardFolder
from confgcn.distributed.shards import load_shard, load_whole
from confgcn.experiments.presets import RunSettings, make_method, resolve
from confgcn.experiments.sharded_graph import make_shards
from confgcn.graph import Graph
from confgcn.training.group import ALONE
from confgcn.training.loop import TrainingLoop
from confgcn.training.memory import reuse_freed_memory
from confgcn.training.seed import seeded

SIZES = (10_000, 100_000, 1_000_000)
STEPS = {10_000: 20, 100_000: 8, 1_000_000: 4}
PRESETS = ("released", "consensus")
CUTS = ("metis", "hash")
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
    parser.add_argument("--cuts", nargs="*", default=CUTS)
    parser.add_argument("--cut", nargs=3, metavar=("SIZE", "HOW", "FOLDER"), help="for a child")
    parser.add_argument("--measure", nargs=4, metavar=("SHARDS", "PRESET", "THREADS", "STEPS"), help="for a child")
    asked = parser.parse_args()
    if asked.cut:
        print(json.dumps(cut(int(asked.cut[0]), asked.cut[1], Path(asked.cut[2]))))
    elif asked.measure:
        shards, preset, threads, steps = asked.measure
        measure(ShardFolder(Path(shards)), preset, int(threads), int(steps))
    else:
        for size in asked.sizes:
            run(size, asked.rounds, asked.cuts)


def run(size: int, rounds: int, cuts: list[str]) -> None:
    """Cut the graph in a process of its own, then let the contestants take turns."""
    for how in cuts:
        with tempfile.TemporaryDirectory(dir=".") as folder:
            shards = str(Path(folder) / "shards")
            keep({"what": "cut", "nodes": size, "by": how, **child(["--cut", str(size), how, shards])[0]})
            for _ in range(rounds):
                for preset in PRESETS:
                    for workers, threads in ((1, 1), (1, 2), (2, 1)) if how == "metis" else ((2, 1),):
                        words = ["--measure", shards, preset, str(threads), str(STEPS[size])]
                        for found in child(words, workers):
                            keep(
                                {
                                    "what": "step",
                                    "nodes": size,
                                    "by": how,
                                    "preset": preset,
                                    "threads": threads,
                                    **found,
                                }
                            )


def child(words: list[str], workers: int = 1) -> list[dict[str, Any]]:
    """What a child process, or several, have found."""
    command = [sys.executable, __file__]
    if workers > 1:
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
        command = [sys.executable, *launcher, __file__]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    if done.returncode:
        return [{"failed": done.stderr[-300:]}]
    return [json.loads(line) for line in done.stdout.splitlines()]


def cut(size: int, how: str, folder: Path) -> dict[str, Any]:
    """Cut and write; the memory above that of the graph itself."""
    graph = clustered_graph(size)
    before = status("VmRSS")
    began, _ = time.perf_counter(), forget_peak()
    record = make_shards(folder, graph, 2, how=how)  # type: ignore[arg-type]
    return {
        "seconds": time.perf_counter() - began,
        "crossing": record["crossing"] / (record["entries"] - size),
        "entries": record["entries"],
        "above_graph": status("VmHWM") - before,
        "edge_list": 16 * (record["entries"] - size) // 2,
    }


def measure(folder: ShardFolder, preset: str, threads: int, steps: int) -> None:
    """Print what the whole, or this worker's part, takes."""
    torch.set_num_threads(threads)
    settings = settings_of(preset)
    if "RANK" not in os.environ:
        print(json.dumps({"workers": 1, **measured(load_whole(folder), settings, steps, ALONE)}))
        return
    with joined_group() as group:
        part = load_shard(folder, group.rank, group.size)
        found = {"workers": group.size, "rank": group.rank, **measured(part, settings, steps, group)}
        os.write(1, (json.dumps(found) + "\n").encode())  # in one piece: two workers share the stream


def measured(graph: Graph, settings: RunSettings, steps: int, group: Any) -> dict[str, Any]:
    with seeded(0):
        loop = TrainingLoop(make_method(graph, settings), graph, settings.recipe, group=group)
    halo = graph.halo
    loop.train_step()  # what is built once is built
    reuse_freed_memory()
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
        "borrowed": sum(halo.borrowed_counts) if isinstance(halo, HaloExchange) else 0,
        "own": graph.num_nodes,
    }


def sent_by(halo: Any) -> int:
    return halo.bytes_sent if isinstance(halo, HaloExchange) else 0


def settings_of(preset: str) -> RunSettings:
    options = OPTIONS if preset == "released" else {}
    return resolve("confgcn", preset, "", {**options, "feature_scaling": "none", "select": "last", "stop": "never"})


def status(name: str) -> int:
    """Bytes, from the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def forget_peak() -> None:
    """The largest resident set is counted anew."""
    Path("/proc/self/clear_refs").write_text("5")


def keep(row: dict[str, Any]) -> None:
    """Add one measurement to the file."""
    rows = json.loads(WORKERS.read_text()) if WORKERS.is_file() else []
    rows.append({"date": datetime.date.today().isoformat(), **row})
    WORKERS.write_text(json.dumps(rows, indent=1) + "\n")
    print(row, flush=True)


if __name__ == "__main__":
    main()
