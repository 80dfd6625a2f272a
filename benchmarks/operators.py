"""Compare every operator of confgcn.ops with plain torch: python benchmarks/operators.py

Each operator with a hand-derived gradient is run forward and backward in three versions: with the compiled kernels,
with the pure kernels, and as plain torch that autograd differentiates. Two are also compared with what they are
composed of: `propagate` with steps of `aggregate`, and the product after dropout with `dropout` and `@`. Time is CPU
time on a graph of 20,000 nodes, one thread, the versions interleaved: medians, and ratios to plain torch. Memory is
the growth of the largest resident set on a graph of 1,000,000 nodes, each version in a process of its own. Written to
benchmarks/results/operators.json.
"""

from __future__ import annotations

import datetime
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from recorded import write
from resident import peak_bytes, reset_peak
from torch import Tensor
from torch.nn import functional

from confgcn import kernels, ops
from confgcn.graph import symmetric_adjacency
from confgcn.ops.dropout import dropout_dense
from confgcn.sparse import SparseStructure

SMALL, LARGE = 20_000, 1_000_000  # nodes
DEGREE = 6  # edges drawn per node: about 13 entries per row of the adjacency, with both directions and the self loop
WIDTH, FEATURES, CLASSES, STEPS, RATE = 16, 128, 7, 8, 0.5
REPEATS = 31
VERSIONS = ("compiled", "pure", "plain")


@dataclass(frozen=True)
class Inputs:
    """Tensors on one random graph; N nodes, E entries of the adjacency."""

    adjacency: SparseStructure
    edges: Tensor  # (E,)
    nodes: Tensor  # (N, WIDTH)
    others: Tensor  # (N, WIDTH)
    scores: Tensor  # (N, CLASSES)
    features: Tensor  # (N, FEATURES), without a gradient
    weight: Tensor  # (FEATURES, WIDTH)

    @classmethod
    def of(cls, num_nodes: int) -> Inputs:
        torch.manual_seed(0)
        pairs = torch.randint(num_nodes, (DEGREE * num_nodes, 2)).numpy()
        adjacency, _ = symmetric_adjacency(pairs, num_nodes)
        nodes, others = (torch.rand(num_nodes, WIDTH).requires_grad_() for _ in range(2))
        edges, scores = torch.rand(adjacency.num_entries).requires_grad_(), torch.rand(num_nodes, CLASSES)
        weight = torch.rand(FEATURES, WIDTH).requires_grad_()
        features = torch.rand(num_nodes, FEATURES)
        return cls(adjacency, edges, nodes, others, scores.requires_grad_(), features, weight)


def plain_aggregate(adjacency: SparseStructure, weights: Tensor, values: Tensor) -> Tensor:
    messages = values.index_select(0, adjacency.indices) * weights[:, None]
    return values.new_zeros(adjacency.shape[0], values.shape[1]).index_add(0, adjacency.rows, messages)


def plain_propagate(adjacency: SparseStructure, weights: Tensor, values: Tensor) -> Tensor:
    total = values
    for _ in range(STEPS):
        total = plain_aggregate(adjacency, weights.detach(), total) + values
    return total / (STEPS + 1)


def plain_edge_distance(adjacency: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    source, target = adjacency.indices, adjacency.rows
    difference = mu.index_select(0, source) - mu.index_select(0, target)
    return (difference.square() * (precision.index_select(0, source) + precision.index_select(0, target))).sum(1)


def plain_edge_softmax(adjacency: SparseStructure, scores: Tensor) -> Tensor:
    highest = torch.segment_reduce(scores.detach(), "max", offsets=adjacency.indptr, axis=0)
    exponential = (scores - highest.index_select(0, adjacency.rows)).exp()
    sums = scores.new_zeros(adjacency.shape[0]).index_add(0, adjacency.rows, exponential)
    return exponential / sums.index_select(0, adjacency.rows)


def steps_of_aggregate(adjacency: SparseStructure, weights: Tensor, values: Tensor) -> Tensor:
    total = values
    for _ in range(STEPS):
        total = ops.aggregate(adjacency, weights.detach(), total) + values
    return total / (STEPS + 1)


# Each operator as it is, and what it is compared with.
OPERATORS: dict[str, tuple[Callable[[Inputs], Any], Callable[[Inputs], Tensor]]] = {
    "aggregate": (
        lambda i: ops.aggregate(i.adjacency, i.edges, i.nodes),
        lambda i: plain_aggregate(i.adjacency, i.edges, i.nodes),
    ),
    "propagate": (
        lambda i: ops.propagate(i.adjacency, i.edges, i.nodes, steps=STEPS),
        lambda i: plain_propagate(i.adjacency, i.edges, i.nodes),
    ),
    "propagate / steps of aggregate": (
        lambda i: ops.propagate(i.adjacency, i.edges, i.nodes, steps=STEPS),
        lambda i: steps_of_aggregate(i.adjacency, i.edges, i.nodes),
    ),
    "edge_distance": (
        lambda i: ops.edge_distance(i.adjacency, i.nodes, i.others),
        lambda i: plain_edge_distance(i.adjacency, i.nodes, i.others),
    ),
    "edge_softmax": (
        lambda i: ops.edge_softmax(i.adjacency, i.edges),
        lambda i: plain_edge_softmax(i.adjacency, i.edges),
    ),
    "softmax": (lambda i: ops.softmax(i.scores), lambda i: i.scores.softmax(-1)),
    "dropout": (lambda i: ops.dropout(i.nodes, RATE, training=True), lambda i: functional.dropout(i.nodes, RATE)),
    "matmul after dropout": (
        lambda i: ops.matmul(i.features, i.weight, dropout=RATE),
        lambda i: functional.dropout(i.features, RATE) @ i.weight,
    ),
    "matmul after dropout / dropout, then @": (
        lambda i: ops.matmul(i.features, i.weight, dropout=RATE),
        lambda i: dropout_dense(i.features, RATE) @ i.weight,
    ),
}


def main() -> None:
    """Measure all operators and keep the results."""
    torch.set_num_threads(1)
    inputs = Inputs.of(SMALL)
    rows = {}
    for name in OPERATORS:
        seconds = times(name, inputs)
        megabytes = {version: peak_memory(name, version) for version in VERSIONS}
        rows[name] = {
            "milliseconds": {version: round(1e3 * value, 3) for version, value in seconds.items()},
            "time_to_plain": {version: round(seconds[version] / seconds["plain"], 2) for version in VERSIONS},
            "megabytes": megabytes,
            "memory_to_plain": {version: round(megabytes[version] / megabytes["plain"], 2) for version in VERSIONS},
        }
        print(name, rows[name], flush=True)
    sizes = {
        "nodes_for_time": SMALL,
        "nodes_for_memory": LARGE,
        "edges_per_node": DEGREE,
        "width": WIDTH,
        "features": FEATURES,
    }
    record = {"date": datetime.date.today().isoformat(), **sizes, "repeats": REPEATS, "operators": rows}
    write("operators", record)


def times(name: str, inputs: Inputs) -> dict[str, float]:
    """Median CPU seconds of each version, which take turns."""
    found: dict[str, list[float]] = {version: [] for version in VERSIONS}
    for _ in range(REPEATS):
        for version in VERSIONS:
            begin = time.process_time()
            run(name, version, inputs)
            found[version].append(time.process_time() - begin)
    return {version: statistics.median(values[1:]) for version, values in found.items()}


def run(name: str, version: str, inputs: Inputs) -> None:
    """One forward and backward pass."""
    ours, plain = OPERATORS[name]
    with kernels.using("compiled" if version == "plain" else version):  # type: ignore[arg-type]
        result = (plain if version == "plain" else ours)(inputs)
        result.backward(torch.ones_like(result))
    for tensor in (inputs.edges, inputs.nodes, inputs.others, inputs.scores, inputs.weight):
        tensor.grad = None


def peak_memory(name: str, version: str) -> float:
    """Megabytes by which the largest resident set grows in a process that runs one version twice."""
    command = [sys.executable, __file__, name, version]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def print_memory(name: str, version: str) -> None:
    """What :func:`peak_memory` reads: the first pass also fills the caches that a training has."""
    torch.set_num_threads(1)
    inputs = Inputs.of(LARGE)
    for cached in ("rows", "transposed", "mirror"):
        getattr(inputs.adjacency, cached)
    run(name, version, inputs)
    reset_peak()
    before = peak_bytes()
    run(name, version, inputs)
    print(round((peak_bytes() - before) / 2**20, 1))


if __name__ == "__main__":
    main() if len(sys.argv) == 1 else print_memory(*sys.argv[1:])
