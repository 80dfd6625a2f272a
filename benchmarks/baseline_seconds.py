"""How long a run of each baseline takes: its default preset, one thread, one run at a time on an idle machine.

python benchmarks/baseline_seconds.py     (writes results/baseline_seconds.json)
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from baseline_tables import GRAPHS, PRESETS, in_main_table

RESULTS = Path(__file__).parent / "results" / "baseline_seconds.json"


def main() -> None:
    """Every method on every graph, with seed 0."""
    found: dict[str, Any] = {"date": datetime.date.today().isoformat()}
    for method in PRESETS:
        for preset in in_main_table(method):
            for graph in GRAPHS:
                found[f"{graph} --method {method} --preset {preset}"] = seconds(graph, method, preset)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        print(method)


def seconds(graph: str, method: str, preset: str) -> float:
    """As the run itself says."""
    with tempfile.TemporaryDirectory() as scratch:
        words = ["train", graph, "--method", method, "--preset", preset, "--json", "--out", f"{scratch}/run"]
        process = subprocess.run([sys.executable, "-m", "confgcn", *words], capture_output=True, text=True, check=True)
    return float(json.loads(process.stdout)["seconds"])


if __name__ == "__main__":
    main()
