"""Time per epoch against the lower bound by memory bandwidth: python benchmarks/limits.py [GRAPH ...]

For every graph, preset `released` with compiled kernels, one thread: CPU milliseconds per epoch; the time spent in
kernels; the same epoch on a graph of six nodes, which is the overhead of Python and torch; and the lower bound: the
bytes of all arguments and results of kernels, divided by the copy bandwidth of this machine. Written to
benchmarks/results/limits.json.
"""

from __future__ import annotations

import datetime
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from recorded import GRAPHS, read, table, write
from torch import Tensor

from confgcn import kernels
from confgcn.data.load import load_graph
from confgcn.graph import Graph
from confgcn.kernels import compiled
from confgcn.runs.settings import resolve
from confgcn.runs.train import make_loop
from confgcn.sparse import SparseStructure

STEPS = 200
CACHED, UNCACHED = 2**18, 2**26  # floats in an array that fits a core's cache, and in one that fits none


class InstrumentedKernels:
    """The compiled kernels, with a sum of the time spent in them and of the bytes they access."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.bytes = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = getattr(compiled, name)

        def instrumented(*arguments: Any) -> Any:
            begin = time.process_time()
            result = function(*arguments)
            self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - begin
            self.bytes += sum(map(size, (*arguments, *(result if isinstance(result, tuple) else (result,)))))
            return result

        return instrumented


def size(value: Any) -> int:
    """Bytes of an array or of a sparse structure."""
    if isinstance(value, Tensor):
        return value.numel() * value.element_size()
    return size(value.indptr) + size(value.indices) if isinstance(value, SparseStructure) else 0


def main(graphs: list[str]) -> None:
    """Measure every graph and record the results."""
    torch.set_num_threads(1)
    bandwidth = {"cached": copy_speed(CACHED), "uncached": copy_speed(UNCACHED)}
    results: dict[str, Any] = {"date": datetime.date.today().isoformat(), "bytes_per_second": bandwidth, "graphs": {}}
    for name in graphs:
        results["graphs"][name] = measure(name, bandwidth["cached"])
        print(name, results["graphs"][name], flush=True)
    write("limits", results)


def measure(name: str, bandwidth: float) -> dict[str, Any]:
    """Milliseconds per epoch, in total and by kernel."""
    settings = resolve("confgcn", "released", name, {})
    loop = make_loop(load_graph(name), settings)
    epoch = milliseconds(loop.train_step)
    instrumented = InstrumentedKernels()
    with kernels.using("compiled"):
        kernels._chosen = instrumented  # type: ignore[assignment]
        for _ in range(STEPS):
            loop.train_step()
    inside = {kernel: 1e3 * seconds / STEPS for kernel, seconds in instrumented.seconds.items()}
    moved = instrumented.bytes / STEPS
    return {
        "epoch": epoch,
        "kernels": sum(inside.values()),
        "six_nodes": milliseconds(make_loop(six_nodes(), settings).train_step),
        "bytes": moved,
        "limit": 1e3 * moved / bandwidth,
        "by_kernel": dict(sorted(inside.items(), key=lambda row: -row[1])),
    }


def milliseconds(step: Callable[[], Any]) -> float:
    """CPU time of a step, median."""
    times = []
    for _ in range(STEPS):
        begin = time.process_time()
        step()
        times.append(time.process_time() - begin)
    return 1e3 * statistics.median(times)


def six_nodes() -> Graph:
    """A path of six nodes."""
    edges = [(i, i + 1) for i in range(5)]
    return Graph.build(edges, torch.eye(6).numpy(), [0, 1, 0, 1, 0, 1], train=[0, 1], validation=[2, 3], test=[4, 5])


def copy_speed(floats: int) -> float:
    """Bytes read and written per second by a copy, median."""
    source, target = torch.rand(floats), torch.empty(floats)
    repeats = max(1, 2**26 // floats)
    times = []
    for _ in range(9):
        begin = time.perf_counter()
        for _ in range(repeats):
            target.copy_(source)
        times.append((time.perf_counter() - begin) / repeats)
    return 2 * size(source) / statistics.median(times)


def blocks() -> dict[str, str]:
    """The table, by the name of its place in the documents."""
    return {"limits": limit_table(read("limits"))}


def limit_table(found: dict[str, Any]) -> str:
    """Time per epoch and its lower bound."""
    rows = []
    for graph, row in found["graphs"].items():
        cells = [f"{row[key]:.2f}" for key in ("epoch", "six_nodes", "kernels", "limit")]
        slowest = ", ".join(f"{name} {ms:.2f}" for name, ms in list(row["by_kernel"].items())[:3])
        rows.append(
            [graph, *cells, f"{row['epoch'] / row['limit']:.0f}", f"{row['kernels'] / row['limit']:.0f}", slowest]
        )
    head = ["CPU ms", "epoch", "epoch on six nodes", "in kernels", "bound", "epoch / bound", "kernels / bound"]
    return table([*head, "slowest kernels"], rows)


if __name__ == "__main__":
    main(sys.argv[1:] or list(GRAPHS))
