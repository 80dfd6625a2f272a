"""Loss and gradients of 1, 2 and 4 workers compared with one process: python benchmarks/exactness.py

Two steps of each preset without dropout, in double and in single precision, on cora, pubmed and a clustered graph of
100,000 nodes; loss and all gradients of the second step. Written to benchmarks/results/exactness.json after each
measurement.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from clustered import clustered_graph
from recorded import append, read, table
from torch import Tensor

from confgcn.data.load import load_graph
from confgcn.distributed.process_group import ProcessGroup, gathered_rows, joined_group
from confgcn.distributed.shard_files import ShardFolder
from confgcn.distributed.shards import load_all_shards, load_shard
from confgcn.graph import Graph
from confgcn.models.base import require
from confgcn.runs.settings import RunSettings, make_method, resolve
from confgcn.runs.stored_graph import columns_of, make_shards
from confgcn.sparse import SparseMatrix
from confgcn.training.group import SINGLE_PROCESS
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded

GRAPHS = ("cora", "pubmed", "clustered")
PRESETS = ("paper", "released", "consensus")
WORKERS = (1, 2, 4)
PRECISIONS = {"float64": torch.float64, "float32": torch.float32}
SYNTHETIC = 100_000
Task = dict[str, str]


def main() -> None:
    """Measure every graph, or execute the tasks of one worker."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", nargs="*", default=GRAPHS)
    parser.add_argument("--worker", type=Path, metavar="FOLDER", help="the folder with the tasks, for a worker")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.worker:
        work_on(arguments.worker)
        return
    for name in arguments.graphs:
        measure(name, clustered_graph(SYNTHETIC) if name == "clustered" else load_graph(name))


def measure(name: str, graph: Graph) -> None:
    """Every preset, precision and number of workers on one graph."""
    tasks = [{"graph": name, "preset": p, "precision": precision} for p in PRESETS for precision in PRECISIONS]
    for workers in WORKERS:
        for task, found in zip(tasks, compared(graph, workers, tasks), strict=True):
            append("exactness", {**task, "workers": workers, **found})


def compared(graph: Graph, workers: int, tasks: list[Task]) -> list[dict[str, float]]:
    """The distances of the workers from one process, for every task."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_shards(place / "shards", graph, workers)
        (place / "tasks.json").write_text(json.dumps(tasks))
        results = (
            [one_worker(place, task) for task in tasks] if workers == 1 else several_workers(place, workers, len(tasks))
        )
    return [distances(as_precise(graph, task), task, result) for task, result in zip(tasks, results, strict=True)]


def one_worker(place: Path, task: Task) -> dict[str, Tensor]:
    """Loss and gradients of one process that reads shards."""
    loss, gradients = two_steps(as_precise(load_all_shards(ShardFolder(place / "shards")), task), task)
    return {"loss": torch.tensor(loss, dtype=torch.double), **gradients}


def several_workers(place: Path, workers: int, tasks: int) -> list[dict[str, Tensor]]:
    """Loss and gradients of several workers, for every task."""
    command = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
    arguments = [sys.executable, "-m", *command, __file__, "--worker", str(place)]
    subprocess.run(arguments, check=True, capture_output=True)
    return [torch.load(place / f"{number}.pt", weights_only=True) for number in range(tasks)]


def distances(graph: Graph, task: Task, found: dict[str, Tensor]) -> dict[str, float]:
    """Relative differences of the workers' loss and gradients from those of one process."""
    loss, gradients = two_steps(graph, task)
    difference = sum(float((gradients[name] - found[name]).double().square().sum()) for name in gradients)
    norm = sum(float(gradient.double().square().sum()) for gradient in gradients.values())
    return {
        "loss": abs(loss - float(found["loss"])) / abs(loss),
        "gradient": math.sqrt(difference / norm),
        "largest": max(float((gradients[name] - found[name]).abs().max()) for name in gradients),
    }


def work_on(place: Path) -> None:
    """Execute the tasks as one worker; the first worker gathers the gradients of all shards."""
    folder = ShardFolder(place / "shards")
    with joined_group() as group:
        shard = load_shard(folder, group.rank, group.size)
        for number, task in enumerate(json.loads((place / "tasks.json").read_text())):
            prepared = settings_of(task).data.prepare(shard, seed=0, fitted_on=columns_of(folder))
            loop, loss = stepped(as_precise(prepared, task, is_prepared=True), task, group)
            found = {"loss": torch.tensor(loss, dtype=torch.double), **whole_gradients(loop, group)}
            if group.rank == 0:
                torch.save(found, place / f"{number}.pt")


def whole_gradients(loop: TrainingLoop, group: ProcessGroup) -> dict[str, Tensor]:
    """Gradients with the rows of all nodes, in the first process."""
    shard = loop.graph.shard
    assert shard is not None
    gradients = {name: weight.grad for name, weight in loop.parameters.items()}
    for name in loop.method.per_node:
        rows = require(gradients[name])
        gradients[name] = gathered_rows(rows, shard, group)
    return {name: gradient for name, gradient in gradients.items() if gradient is not None}


def two_steps(graph: Graph, task: Task) -> tuple[float, dict[str, Tensor]]:
    """The loss and the gradients of one process."""
    loop, loss = stepped(graph, task, SINGLE_PROCESS)
    return loss, {name: p.grad for name, p in loop.parameters.items() if p.grad is not None}


def stepped(graph: Graph, task: Task, group: Any) -> tuple[TrainingLoop, float]:
    """The loop after one step and the gradients of the second, with the loss of the second."""
    settings = settings_of(task)
    torch.set_default_dtype(PRECISIONS[task["precision"]])
    with seeded(0):
        loop = TrainingLoop(make_method(graph, settings), graph, settings.recipe, group=group)
        loop.train_step()
        loss = sum(loop.compute_gradients().values())
    torch.set_default_dtype(torch.float32)
    return loop, loss


def settings_of(task: Task) -> RunSettings:
    """The preset without dropout."""
    node_dropout = {"node_dropout": 0.0} if task["preset"] == "consensus" else {}
    return resolve("confgcn", task["preset"], task["graph"], {"dropout": 0.0, **node_dropout})


def as_precise(graph: Graph, task: Task, *, is_prepared: bool = False) -> Graph:
    """The prepared graph, with features in the precision of the task."""
    prepared = graph if is_prepared else settings_of(task).data.prepare(graph, seed=0)
    features, kind = prepared.features, PRECISIONS[task["precision"]]
    if isinstance(features, SparseMatrix):
        return prepared.with_features(features.with_values(features.values.to(kind)))
    return prepared.with_features(features.to(kind))


def blocks() -> dict[str, str]:
    """The table, by the name of its place in the documents."""
    return {"exactness": exactness_table(read("exactness"))}


def exactness_table(rows: list[dict[str, Any]]) -> str:
    """The largest relative difference over presets."""
    lines = []
    for precision in ("float64", "float32"):
        for workers in sorted({row["workers"] for row in rows}):
            cells = []
            for graph in ("cora", "pubmed", "clustered"):
                chosen = [
                    row
                    for row in rows
                    if (row["precision"], row["workers"], row["graph"]) == (precision, workers, graph)
                ]
                cells.append(" / ".join(f"{max(row[name] for row in chosen):.0e}" for name in ("loss", "gradient")))
            lines.append([precision, str(workers), *cells])
    return table(
        ["relative difference of loss / gradients", "workers", "cora", "pubmed", "clustered, 100,000 nodes"], lines
    )


if __name__ == "__main__":
    main()
