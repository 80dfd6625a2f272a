"""Where results are recorded and under which names: what measuring and reporting share. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent / "results"
SPEED, SCALING, LIMITS, MINIBATCH = (FOLDER / f"{name}.json" for name in ("speed", "scaling", "limits", "minibatch"))
EXACTNESS, WORKERS = (FOLDER / f"{name}.json" for name in ("exactness", "workers"))
GRAPHS = ("cora", "citeseer", "pubmed", "cora_ml")
SCALED = ("released", "all rows")  # variants of ConfGCN that are run on large graphs
CONTESTANTS = (
    "PyG GCN, compressed adjacency",
    "released, compiled",
    "released, pure",
    "all rows, compiled",
    "all rows, pure",
    "PyG GCN, edge_index",
    "PyG GAT, edge_index",
)
