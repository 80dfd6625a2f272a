"""Where results are recorded and under which names: what measuring and reporting share. Imports nothing heavy."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
SPEED, SCALING, LIMITS, MINIBATCH = (FOLDER / f"{name}.json" for name in ("speed", "scaling", "limits", "minibatch"))
EXACTNESS, WORKERS, PARTS_ACCURACY, TWO_HOSTS = (
    FOLDER / f"{name}.json" for name in ("exactness", "workers", "parts_accuracy", "two_hosts")
)
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


def append(path: Path, row: dict[str, Any]) -> None:
    """Add one measurement to a file of them, with its date, and show it."""
    rows = json.loads(path.read_text()) if path.is_file() else []
    path.write_text(json.dumps([*rows, {"date": datetime.date.today().isoformat(), **row}], indent=1) + "\n")
    print(row, flush=True)
