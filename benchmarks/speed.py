"""Milliseconds per epoch against PyG, in one run: python benchmarks/speed.py [GRAPH ...]

Every contestant takes its turn in every round, one thread, CPU and wall time of the same steps; a ratio is one of
medians over the rounds. `steps` steps make up one measurement, so that it lasts some 50 ms. Written to
benchmarks/results/speed.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import peers
import torch
from recorded import GRAPHS, SPEED

from confgcn import kernels
from confgcn.data.datasets import load_graph
from confgcn.graph import Graph
from confgcn.runs.settings import resolve
from confgcn.runs.train import make_loop
from confgcn.training.loop import TrainingLoop

ROUNDS = 15
ROUNDS_DENSE = 5  # dense features take up to a third of a second per step
MEASUREMENT = 0.05  # seconds

# The published settings; the same with every row in the loss and the peers' dropout; the printed equations with it.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "released": ("released", {}),
    "all rows": ("released", {"const_over": "all", "lambda_const": 1.0, "dropout": 0.5}),
    "paper": ("paper", {"dropout": 0.5}),
}

Step = Callable[[], Any]


def main() -> None:
    """Measure every graph and keep the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
    torch.set_num_threads(1)
    results = json.loads(SPEED.read_text()) if SPEED.is_file() else {}
    for name in arguments.graphs:
        print(f"{name}: {arguments.rounds} rounds", flush=True)
        results[name] = {"date": datetime.date.today().isoformat(), "threads": 1, **measure(name, arguments.rounds)}
        SPEED.write_text(json.dumps(results, indent=1) + "\n")
        for title, row in results[name]["milliseconds"].items():
            print(f"  {title:32} {row['cpu']:8.2f} ms CPU {row['wall']:8.2f} ms wall", flush=True)


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Medians over the rounds, in milliseconds per epoch, for everything that takes part."""
    graph = load_graph(name)
    times: dict[str, list[tuple[float, float]]] = {}
    for part, repeats in ((sparse_contestants(graph), rounds), (dense_contestants(graph), ROUNDS_DENSE)):
        counts = {title: steps_of(step) for title, step in part.items()}
        for _ in range(repeats):
            for title, step in part.items():
                times.setdefault(title, []).append(timed(step, counts[title]))
    return {
        "rounds": rounds,
        "milliseconds": {
            title: {
                "cpu": 1e3 * statistics.median(cpu for cpu, _ in measured),
                "wall": 1e3 * statistics.median(wall for _, wall in measured),
                "cpu_quartiles": [1e3 * q for q in quartiles([cpu for cpu, _ in measured])],
            }
            for title, measured in times.items()
        },
    }


def sparse_contestants(graph: Graph) -> dict[str, Step]:
    """The fair comparison: everyone has compressed features."""
    steps: dict[str, Step] = {}
    for title, model in (("GCN", peers.GCN), ("GAT", peers.GAT)):
        steps |= with_evaluation(f"PyG {title}", model(graph, dense=False, edges=peers.edge_index(graph)), graph)
    for variant, (preset, options) in VARIANTS.items():
        settings = resolve("confgcn", preset, graph.name, options)
        for path in ("pure", "compiled"):
            with kernels.using(path):  # type: ignore[arg-type]
                loop = make_loop(graph, settings)
            steps |= loop_steps(f"{variant}, {path}", loop, path)
    settings = resolve("gcn", "reference", graph.name, {})
    for path in ("pure", "compiled"):
        steps |= loop_steps(f"gcn, {path}", make_loop(graph, settings), path)
    return steps


def dense_contestants(graph: Graph) -> dict[str, Step]:
    """PyG's examples as they are."""
    edges = peers.edge_index(graph)
    return {
        f"PyG {title}, dense": peers.train_step(model(graph, dense=True, edges=edges), graph)
        for title, model in (("GCN", peers.GCN), ("GAT", peers.GAT))
    }


def with_evaluation(title: str, model: torch.nn.Module, graph: Graph) -> dict[str, Step]:
    """An epoch, and one with the prediction of all nodes after it."""
    step, predict = peers.train_step(model, graph), peers.predict(model)
    return {title: step, f"{title} + evaluation": lambda: (step(), predict())}


def loop_steps(title: str, loop: TrainingLoop, path: str) -> dict[str, Step]:
    """The same of ours; + validation is what training does, + evaluation predicts all nodes."""

    def on(path: str, *steps: Step) -> Step:
        def run() -> None:
            with kernels.using(path):  # type: ignore[arg-type]
                for step in steps:
                    step()

        return run

    return {
        title: on(path, loop.train_step),
        f"{title} + evaluation": on(path, loop.train_step, loop.predict),
        f"{title} + validation": on(path, loop.train_step, loop.validate),
    }


def steps_of(step: Step) -> int:
    """How many steps last as long as a measurement should, after a few to get warm."""
    for _ in range(3):
        step()
    _, wall = timed(step, 3)
    return max(1, round(MEASUREMENT / wall))


def timed(step: Step, count: int) -> tuple[float, float]:
    """CPU and wall seconds per step."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(count):
        step()
    return (time.process_time() - cpu) / count, (time.perf_counter() - wall) / count


def quartiles(values: list[float]) -> tuple[float, float]:
    """The first and the third."""
    first, _, third = statistics.quantiles(values, n=4)
    return first, third


if __name__ == "__main__":
    main()
