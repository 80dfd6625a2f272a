"""Milliseconds per epoch of ConfGCN and of PyG's GCN and GAT: python benchmarks/speed.py [GRAPH ...]

One thread. In every round each model is measured in turn, over as many steps as take about 50 ms. Ratios are ratios of
medians over the rounds. Written to benchmarks/results/speed.json.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from recorded import GRAPHS, PATHS, read, result_file, table, write

from confgcn import kernels
from confgcn.data.load import load_graph
from confgcn.graph import Graph
from confgcn.runs.settings import resolve
from confgcn.runs.train import make_loop
from confgcn.training.loop import TrainingLoop

ROUNDS = 15
ROUNDS_DENSE = 5  # dense features take up to a third of a second per step
MEASUREMENT = 0.05  # seconds

# The published settings; the same with all rows in the loss and the dropout of PyG's examples; the printed equations.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "released": ("released", {}),
    "all rows": ("released", {"const_over": "all", "lambda_const": 1.0, "dropout": 0.5}),
    "paper": ("paper", {"dropout": 0.5}),
}

TABLE_VARIANTS = ("all rows", "paper", "released")
BASELINES = ("PyG GCN", "PyG GAT")

Step = Callable[[], Any]


def main() -> None:
    """Measure every graph and record the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
    torch.set_num_threads(1)
    results = read("speed") if result_file("speed").is_file() else {}
    for name in arguments.graphs:
        print(f"{name}: {arguments.rounds} rounds", flush=True)
        results[name] = {"date": datetime.date.today().isoformat(), "threads": 1, **measure(name, arguments.rounds)}
        write("speed", results)
        for title, row in results[name]["milliseconds"].items():
            print(f"  {title:32} {row['cpu']:8.2f} ms CPU {row['wall']:8.2f} ms wall", flush=True)


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Medians over the rounds, in milliseconds per epoch, for every model."""
    graph = load_graph(name)
    times: dict[str, list[tuple[float, float]]] = {}
    for steps, repeats in ((sparse_models(graph), rounds), (dense_models(graph), ROUNDS_DENSE)):
        counts = {title: steps_of(step) for title, step in steps.items()}
        for _ in range(repeats):
            for title, step in steps.items():
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


def sparse_models(graph: Graph) -> dict[str, Step]:
    """ConfGCN and PyG with sparse features."""
    import peers

    steps: dict[str, Step] = {}
    for title, model in (("GCN", peers.GCN), ("GAT", peers.GAT)):
        steps |= with_evaluation(f"PyG {title}", model(graph, dense=False, edges=peers.edge_index(graph)), graph)
    for variant, (preset, options) in VARIANTS.items():
        settings = resolve("confgcn", preset, graph.name, options)
        for path in PATHS:
            with kernels.using(path):  # type: ignore[arg-type]
                loop = make_loop(graph, settings)
            steps |= loop_steps(f"{variant}, {path}", loop, path)
    settings = resolve("gcn", "reference", graph.name, {})
    for path in PATHS:
        steps |= loop_steps(f"gcn, {path}", make_loop(graph, settings), path)
    return steps


def dense_models(graph: Graph) -> dict[str, Step]:
    """PyG's examples as published, with dense features."""
    import peers

    edges = peers.edge_index(graph)
    return {
        f"PyG {title}, dense": peers.train_step(model(graph, dense=True, edges=edges), graph)
        for title, model in (("GCN", peers.GCN), ("GAT", peers.GAT))
    }


def with_evaluation(title: str, model: torch.nn.Module, graph: Graph) -> dict[str, Step]:
    """An epoch, and an epoch followed by the prediction of all nodes."""
    import peers

    step, predict = peers.train_step(model, graph), peers.predict(model)
    return {title: step, f"{title} + evaluation": lambda: (step(), predict())}


def loop_steps(title: str, loop: TrainingLoop, path: str) -> dict[str, Step]:
    """The same for ConfGCN; training adds validation, evaluation predicts all nodes."""

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
    """The number of steps in one measurement, determined after a few warm-up steps."""
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
    """The first and the third quartile."""
    first, _, third = statistics.quantiles(values, n=4)
    return first, third


def blocks() -> dict[str, str]:
    """The tables, by the name of their place in the documents."""
    epochs = read("speed")
    return {
        "ratios in short": short_table(epochs),
        "ratios": ratio_table(epochs, suffix=""),
        "ratios with evaluation": ratio_table(epochs, suffix=" + evaluation"),
        "epochs": epoch_table(epochs),
    }


def ratio(epochs: dict[str, Any], graph: str, model: str, baseline: str) -> float:
    """The ratio of median CPU times."""
    times = epochs[graph]["milliseconds"]
    return times[model]["cpu"] / times[baseline]["cpu"]


def ratio_table(epochs: dict[str, Any], *, suffix: str) -> str:
    """The epoch of ConfGCN relative to PyG's, both with sparse features."""
    rows = []
    for variant in (*TABLE_VARIANTS, "gcn"):
        for path in PATHS:
            for baseline in BASELINES:
                model, other = f"{variant}, {path}{suffix}", f"{baseline}{suffix}"
                cells = [f"{ratio(epochs, graph, model, other):.2f}" for graph in GRAPHS]
                rows.append([f"{_title(variant)}, {path}", baseline, *cells])
    return table(["CPU time per epoch", "relative to", *GRAPHS], rows)


def short_table(epochs: dict[str, Any]) -> str:
    """The most relevant ratios."""
    rows = []
    for variant, path in (("released", "compiled"), ("all rows", "compiled"), ("all rows", "pure")):
        cells = [" / ".join(f"{ratio(epochs, g, f'{variant}, {path}', b):.2f}" for b in BASELINES) for g in GRAPHS]
        rows.append([f"{_title(variant)}, {path}", *cells])
    return table(["CPU time per epoch relative to PyG's GCN / GAT", *GRAPHS], rows)


def epoch_table(epochs: dict[str, Any]) -> str:
    """Milliseconds per epoch, CPU and wall time."""
    titles = list(epochs[GRAPHS[0]]["milliseconds"])
    rows = []
    for title in titles:
        times = [epochs[graph]["milliseconds"][title] for graph in GRAPHS]
        rows.append([title, *(f"{row['cpu']:.2f} ({row['wall']:.2f})" for row in times)])
    return table(["ms per epoch, CPU (wall)", *GRAPHS], rows)


def draw(folder: Path) -> None:
    """Time per epoch relative to PyG, for every graph; below one is faster."""
    from confgcn.report.figures import figure_style

    with figure_style():
        figure = _drawn(read("speed"))
        figure.savefig(folder / "speed.svg", metadata={"Date": None})


def _drawn(epochs: dict[str, Any]) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.2), constrained_layout=True, sharey=True)
    styles = {
        ("all rows", "pure"): "s",
        ("all rows", "compiled"): "D",
        ("released", "pure"): "^",
        ("released", "compiled"): "o",
    }
    for axis, baseline in zip(axes, BASELINES, strict=True):
        for (variant, path), marker in styles.items():
            heights = [ratio(epochs, graph, f"{variant}, {path}", baseline) for graph in GRAPHS]
            fill = "black" if path == "compiled" else "white"
            label = f"{variant}, {path}"
            axis.plot(GRAPHS, heights, marker, color="black", markerfacecolor=fill, label=label)
        axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":")
        axis.set(yscale="log", title=f"epoch of ConfGCN relative to {baseline}")
    axes[0].set_yticks([0.03, 0.1, 0.3, 1.0], ["0.03", "0.1", "0.3", "1"])
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _title(variant: str) -> str:
    return {"gcn": "Kipf-GCN of confgcn", "all rows": "ConfGCN, all rows"}.get(variant, f"ConfGCN `{variant}`")


if __name__ == "__main__":
    main()
