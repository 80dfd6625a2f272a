"""CPU time to read a graph from CSV files with confgcn, an earlier version of it, and pandas alone.

python benchmarks/reading.py --before FOLDER     (a checkout of the earlier version; writes results/reading.json)

Each program reads the same two files in a fresh process, several times in turn; imports are not counted. Both versions
must build a graph with the same fingerprint. pandas reads strings and maps the ends of edges to node indices, without
any check.
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
from pathlib import Path
from typing import Any

import numpy as np
from recorded import read, table, write

NODES, EDGES, FEATURES, CLASSES = 300_000, 1_500_000, 4, 7
REPEATS = 3
ROOT = Path(__file__).parents[1]

CONFGCN = """
import sys, time, json
from pathlib import Path
from {module} import read_graph
started = time.process_time()
raw = read_graph(Path(sys.argv[1]))
read = time.process_time() - started
graph = raw.build()
print(json.dumps(dict(read=read, build=time.process_time() - started - read, fingerprint=graph.fingerprint)))
"""
PANDAS = """
import sys, time, json
from pathlib import Path
import pandas
started = time.process_time()
folder = Path(sys.argv[1])
nodes = pandas.read_csv(folder / "nodes.csv", dtype=dict(id=str, label=str))
edges = pandas.read_csv(folder / "edges.csv", dtype=str)
place = pandas.Index(nodes["id"])
ends = [place.get_indexer(edges[end]) for end in ("source", "target")]
print(json.dumps(dict(read=time.process_time() - started)))
"""


def main() -> None:
    """Measure every program in turn and record the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, help="a checkout of an earlier version, to compare with")
    parser.add_argument("--before-module", default="confgcn.data.graph_files", help="where its read_graph is")
    arguments = parser.parse_args()
    programs = {"confgcn": (CONFGCN.format(module="confgcn.data.formats.registry"), ROOT), "pandas": (PANDAS, ROOT)}
    if arguments.before is not None:
        programs["before"] = CONFGCN.format(module=arguments.before_module), arguments.before
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        for _ in range(REPEATS):
            for name, (code, root) in programs.items():
                found[name].append(measured(code, root, folder))
    assert len({row["fingerprint"] for rows in found.values() for row in rows if "fingerprint" in row}) == 1
    seconds = {name: statistics.median(row["read"] for row in rows) for name, rows in found.items()}
    record = {
        "date": datetime.date.today().isoformat(),
        "nodes": NODES,
        "edges": EDGES,
        "features": FEATURES,
        "cpu_seconds_to_read": {name: round(value, 3) for name, value in seconds.items()},
        "ratio_to_confgcn": {name: round(value / seconds["confgcn"], 2) for name, value in seconds.items()},
        "cpu_seconds_to_build": {
            name: round(statistics.median(row["build"] for row in rows), 3)
            for name, rows in found.items()
            if "build" in rows[0]
        },
    }
    write("reading", record)
    print(json.dumps(record, indent=1))


def write_tables(folder: Path) -> None:
    """Write a random graph whose ids are strings."""
    random = np.random.default_rng(0)
    labels, features = random.integers(0, CLASSES, NODES), random.normal(size=(NODES, FEATURES)).round(6)
    header = ",".join(["id", "label", *(f"x{column}" for column in range(FEATURES))])
    rows = (
        f"n{node},class {label},{','.join(map(str, row))}"
        for node, (label, row) in enumerate(zip(labels, features.tolist(), strict=True))
    )
    (folder / "nodes.csv").write_text("\n".join([header, *rows]) + "\n")
    ends = random.integers(0, NODES, (EDGES, 2)).tolist()
    (folder / "edges.csv").write_text("\n".join(["source,target", *(f"n{one},n{other}" for one, other in ends)]) + "\n")


def measured(code: str, root: Path, folder: str) -> dict[str, Any]:
    """The measurements that a new process prints."""
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", code, folder], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    row: dict[str, Any] = json.loads(ended.stdout)
    return row


def blocks() -> dict[str, str]:
    """The table, by the name of its place in the documents."""
    found = read("reading")
    titles = {"confgcn": "confgcn, with all checks", "pandas": "pandas alone", "before": "confgcn before pyarrow"}
    seconds, ratios = found["cpu_seconds_to_read"], found["ratio_to_confgcn"]
    rows = [[titles[name], f"{value:.2f}", f"{ratios[name]:.2f}"] for name, value in seconds.items()]
    header = (f"{found['nodes']:,} nodes, {found['edges']:,} edges", "CPU seconds", "relative to confgcn")
    return {"reading": table(header, rows)}


if __name__ == "__main__":
    main()
