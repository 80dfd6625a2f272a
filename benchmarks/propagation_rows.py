"""Time of propagation rows and of propagated features: compiled kernels, pure kernels and sparse products of scipy.

python benchmarks/propagation_rows.py     (writes results/propagation_rows.json)

Rows of sum_k c_k R^k for personalised PageRank with R = D^-1 (A + I), on pubmed and on a random graph. scipy multiplies
blocks of rows and truncates each row with numpy, so that all versions do the same work. CPU time of one thread, the
versions interleaved: medians.
"""

from __future__ import annotations

import datetime
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from recorded import read, table, write
from torch import Tensor

from confgcn import kernels, load_graph
from confgcn.graph import symmetric_adjacency
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.io.threads import computing_with
from confgcn.kernels import compiled, pure
from confgcn.sparse import SparseMatrix, SparseStructure

ALPHA, STEPS, WIDTH, KEPT = 0.5, 6, 32, 128
COEFFICIENTS = [ALPHA * (1 - ALPHA) ** k for k in range(STEPS + 1)]
ROWS = 2000  # measured of each version
BLOCK = 500  # rows that scipy multiplies together
BATCH, VIEW_SIZE = 205, 16  # rows of a training step, and nodes that are drawn from each
NODES, DEGREE, FEATURES, FEATURES_OF_NODE = 100_000, 6, 1000, 20  # of the random graph
REPEATS, WHOLE_REPEATS = 7, 3
VERSIONS = ("compiled", "pure", "scipy")


def main() -> None:
    """Measure both graphs and keep the results."""
    found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "rows": ROWS, "batch": BATCH, "graphs": {}}
    with computing_with(1):
        for name, (adjacency, features) in {"pubmed": pubmed(), "random graph": random_graph()}.items():
            found["graphs"][name] = measured(adjacency, features)
            print(name, found["graphs"][name], flush=True)
    write("propagation_rows", found)


def pubmed() -> tuple[SparseStructure, SparseMatrix]:
    graph = load_graph("pubmed")
    assert isinstance(graph.features, SparseMatrix)
    return graph.adjacency, graph.features


def random_graph() -> tuple[SparseStructure, SparseMatrix]:
    torch.manual_seed(0)
    adjacency, _ = symmetric_adjacency(torch.randint(NODES, (DEGREE * NODES, 2)).numpy(), NODES)
    columns = torch.rand(NODES, FEATURES_OF_NODE).mul_(FEATURES // FEATURES_OF_NODE).long()
    columns += torch.arange(0, FEATURES, FEATURES // FEATURES_OF_NODE)  # one in each range: sorted and unique
    indptr = torch.arange(0, columns.numel() + 1, FEATURES_OF_NODE)
    structure = SparseStructure(indptr, columns.flatten(), (NODES, FEATURES))
    return adjacency, SparseMatrix(structure, torch.rand(columns.numel()))


def measured(adjacency: SparseStructure, features: SparseMatrix) -> dict[str, Any]:
    """Seconds for some rows and for all, and milliseconds for the features of a batch."""
    values = (1 / adjacency.indptr.diff().float())[adjacency.rows]
    matrix = SparseMatrix(adjacency, values).to_scipy()
    rows = {
        "compiled": lambda: build(compiled, adjacency, values),
        "pure": lambda: build(pure, adjacency, values),
        "scipy": lambda: scipy_rows(matrix),
    }
    with kernels.using("compiled"):
        whole = times(
            {"compiled": lambda: PropagationRows.build(adjacency, values, COEFFICIENTS, width=WIDTH, kept=KEPT)},
            WHOLE_REPEATS,
        )
        table = PropagationRows.build(adjacency, values, COEFFICIENTS, width=WIDTH, kept=KEPT)
    batch = table.of(torch.randperm(len(table.indices))[:BATCH]).view(VIEW_SIZE)
    x = features.to_scipy()
    sums: dict[str, Callable[[], object]] = {
        "compiled": lambda: sums_of(compiled, features, batch),
        "pure": lambda: sums_of(pure, features, batch),
        "scipy": lambda: scipy_sums(x, batch),
    }
    return {
        "nodes": adjacency.shape[0],
        "entries": adjacency.num_entries,
        "table_seconds": round(whole["compiled"], 3),
        "rows_seconds": {name: round(value, 4) for name, value in times(rows, REPEATS).items()},
        "features_milliseconds": {name: round(1e3 * value, 3) for name, value in times(sums, 10 * REPEATS).items()},
    }


def build(core: Any, adjacency: SparseStructure, values: Tensor) -> object:
    return core.propagation_rows(adjacency, values, COEFFICIENTS, range(ROWS), width=WIDTH, kept=KEPT)


def sums_of(core: Any, features: SparseMatrix, batch: PropagationRows) -> object:
    return core.sum_feature_rows(features.structure, features.values, batch.indices, batch.weights, unit_length=True)


def scipy_rows(matrix: sp.csr_array) -> list[sp.csr_array]:
    """The same rows by products of sparse matrices; equal weights are chosen between in any order."""
    count, found = matrix.shape[0], []
    for first in range(0, ROWS, BLOCK):
        walk = sp.csr_array(sp.eye_array(BLOCK, count, k=first, dtype=np.float32, format="csr"))
        total = COEFFICIENTS[0] * walk
        for coefficient in COEFFICIENTS[1:]:
            walk = largest(walk @ matrix, KEPT)
            total = total + coefficient * walk
        found.append(largest(sp.csr_array(total), WIDTH))
    return found


def largest(matrix: sp.csr_array, count: int) -> sp.csr_array:
    """The matrix with the largest entries of every row."""
    chosen = []
    for first, last in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        row = matrix.data[first:last]
        places = np.argpartition(row, -count)[-count:] if len(row) > count else np.arange(len(row))
        chosen.append(first + places)
    indptr = np.cumsum([0, *map(len, chosen)])
    entries = np.concatenate(chosen)
    return sp.csr_array((matrix.data[entries], matrix.indices[entries], indptr), shape=matrix.shape)


def scipy_sums(features: sp.csr_array, batch: PropagationRows) -> sp.csr_array:
    rows, width = batch.indices.shape
    indptr = np.arange(0, rows * width + 1, width)
    numbers = batch.weights.flatten().numpy(), batch.indices.flatten().numpy()
    weights = sp.csr_array((*numbers, indptr), shape=(rows, features.shape[0]))
    sums = weights @ features
    sums.sort_indices()
    sums.data /= np.repeat(np.sqrt(np.maximum((sums * sums).sum(axis=1), 1e-30)), np.diff(sums.indptr))
    return sums


def times(versions: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median CPU seconds of each version, which take turns."""
    found: dict[str, list[float]] = {name: [] for name in versions}
    for _ in range(repeats):
        for name, call in versions.items():
            begin = time.process_time()
            call()
            found[name].append(time.process_time() - begin)
    return {name: statistics.median(values) for name, values in found.items()}


def blocks() -> dict[str, str]:
    """The table, by the name of its place in the documents."""
    return {"propagation rows": rows_table()}


def rows_table() -> str:
    """Times of every version, with the ratio to the compiled one."""
    found = read("propagation_rows")
    cells = []
    for name, graph in found["graphs"].items():
        each = [(f"{found['rows']:,} rows, s", "rows_seconds"), ("features of a batch, ms", "features_milliseconds")]
        size = f"{name}, {graph['nodes']:,} nodes, {graph['entries']:,} entries"
        cells.append([f"{size}: all rows, s", f"{graph['table_seconds']:.2f}", "", ""])
        for title, key in each:
            ours = graph[key]["compiled"]
            cells.append(
                [f"{name}: {title}", *(f"{graph[key][v]:.2f} ({graph[key][v] / ours:.0f}×)" for v in VERSIONS)]
            )
    origin = f"{found['date']}, `python benchmarks/propagation_rows.py`; in brackets the ratio to `compiled`."
    return f"{table(['CPU time', *VERSIONS], cells)}\n{origin}\n"


if __name__ == "__main__":
    main()
