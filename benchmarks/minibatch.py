"""Mini-batches of sampled neighbours against the full batch: accuracy on pubmed, memory and time on a million nodes.

    python benchmarks/minibatch.py accuracy
    python benchmarks/minibatch.py memory

Each measurement runs in its own process with one thread. Written to benchmarks/results/minibatch.json after each. The
graph of a million nodes is that of benchmarks/scaling.py.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import time
from typing import Any

import torch
from recorded import read, result_file, table, write
from resident import peak_bytes, reset_peak
from scaling import OURS, random_graph

from confgcn.data.load import load_graph
from confgcn.evaluation.metrics import accuracy
from confgcn.io.allocator import keep_freed_memory
from confgcn.runs.settings import resolve
from confgcn.runs.train import make_loop
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded

SEEDS = 5
SIZE = 1_000_000
STEPS = {"full": 3, "samples": 100}
TITLES = {"full": "full batch", "samples": "mini-batches"}

# An epoch has ten times as many steps, so there are fewer epochs and, for `paper`, a lower learning rate. Chosen on the
# validation nodes with seed 100.
ON_SAMPLES: dict[str, dict[str, Any]] = {
    "paper": {"batch_size": 2048, "fanout": 10, "epochs": 40, "learning_rate": 0.003},
    "consensus": {"batch_size": 2048, "fanout": 10, "epochs": 60},
}
LARGE: dict[str, dict[str, Any]] = {"full": {}, "samples": {"batch_size": 1024, "fanout": 10}}


def main() -> None:
    """All measurements of a kind, or one of them in a child process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["accuracy", "memory"])
    parser.add_argument("--measure", nargs="+", metavar="WORD")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.measure:
        measure = {"accuracy": measure_accuracy, "memory": measure_memory}[arguments.kind]
        print(json.dumps(measure(*arguments.measure)))
        return
    jobs: list[tuple[str, ...]] = [("all rows", how) for how in LARGE]
    if arguments.kind == "accuracy":
        jobs = [(preset, how, str(seed)) for seed in range(SEEDS) for preset in ON_SAMPLES for how in LARGE]
    for words in jobs:
        record(arguments.kind, words)


def record(kind: str, words: tuple[str, ...]) -> None:
    """Add one measurement to the results."""
    child = subprocess.run([sys.executable, __file__, kind, "--measure", *words], stdout=subprocess.PIPE, check=True)
    found = {"date": datetime.date.today().isoformat(), **json.loads(child.stdout)}
    print(kind, *words, found, flush=True)
    results = read("minibatch") if result_file("minibatch").is_file() else {}
    results.setdefault(kind, {}).setdefault(words[0], {}).setdefault(words[1], []).append(found)
    write("minibatch", results)


def measure_accuracy(preset: str, how: str, seed: str) -> dict[str, Any]:
    """Test accuracy of the epoch that the recipe selects."""
    graph, started = load_graph("pubmed"), time.process_time()
    options = ON_SAMPLES[preset] if how == "samples" else {}
    with seeded(int(seed)):
        loop = make_loop(graph, resolve("confgcn", preset, "pubmed", options))
        loop.fit()
        test = accuracy(loop.predict(graph.test).logits_of(graph.test), graph.labels[graph.test])
    assert loop.best is not None
    return {
        "seed": int(seed),
        "settings": options,
        "test": test,
        "validation": loop.best["validation_accuracy"],
        "validation_loss": loop.best["validation_loss"],
        "best_epoch": loop.best["epoch"],
        "cpu": time.process_time() - started,
    }


def measure_memory(name: str, how: str) -> dict[str, Any]:
    """CPU seconds per step (median), and the peak memory of the steps and of the whole process."""
    graph = random_graph(SIZE)
    settings = resolve("confgcn", "released", graph.name, {**OURS[name], **LARGE[how], "select": "last"})
    keep_freed_memory()  # as the command line does
    loop = make_loop(graph, settings)
    built = peak_bytes()
    reset_peak()
    seconds, nodes = steps(loop, STEPS[how])
    return {
        "settings": LARGE[how],
        "nodes_in_step": nodes,
        "cpu": seconds,
        "steps_in_epoch": loop.batches.count,
        "peak_of_steps_gb": peak_bytes() / 1e9,
        "peak_of_process_gb": max(built, peak_bytes()) / 1e9,
    }


def steps(loop: TrainingLoop, count: int) -> tuple[float, int]:
    """The median CPU seconds of ``count`` steps including sampling, and the median number of nodes in a sample."""
    seconds, nodes, batches = [], [], iter(loop.batches)
    for _ in range(count):
        before = time.process_time()
        batch = next(batches) if loop.batches.count > 1 else loop.visible
        loop.train_step(batch)
        seconds.append(time.process_time() - before)
        nodes.append(batch.num_nodes)
    return statistics.median(seconds), round(statistics.median(nodes))


def blocks() -> dict[str, str]:
    """The tables, by the name of their place in the documents."""
    results = read("minibatch")
    return {
        "accuracy on samples": accuracy_table(results["accuracy"]),
        "memory on samples": memory_table(results["memory"]["all rows"]),
    }


def accuracy_table(results: dict[str, Any]) -> str:
    """Test and validation accuracy over the seeds that both have."""
    rows = []
    for preset, runs in results.items():
        seeds = set.intersection(*({run["seed"] for run in runs[how]} for how in TITLES))
        for how, title in TITLES.items():
            chosen = [run for run in runs[how] if run["seed"] in seeds]
            cells = [mean_std([100 * run[split] for run in chosen]) for split in ("test", "validation")]
            epochs = f"{statistics.mean(run['best_epoch'] for run in chosen):.0f}"
            seconds = f"{statistics.mean(run['cpu'] for run in chosen):.0f}"
            rows.append([f"`{preset}`, {title}", str(len(chosen)), *cells, epochs, seconds])
    return table(["pubmed", "seeds", "test accuracy", "validation", "best epoch", "CPU seconds"], rows)


def memory_table(results: dict[str, Any]) -> str:
    """The last measurement of each."""
    rows = []
    for how, title in TITLES.items():
        last = results[how][-1]
        peaks = [f"{last[f'peak_of_{scope}_gb']:.1f}" for scope in ("steps", "process")]
        nodes = f"{last['nodes_in_step']:,}"
        rows.append([title, *peaks, f"{last['cpu']:.2f}", nodes, f"{last['steps_in_epoch']:,}"])
    head = ["a million nodes", "GB while training", "GB of the process", "CPU seconds per step", "nodes in a step"]
    return table([*head, "steps per epoch"], rows)


def mean_std(values: list[float]) -> str:
    """Mean ± standard deviation."""
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values) if len(values) > 1 else 0.0:.1f}"


if __name__ == "__main__":
    main()
