"""How long a run of each baseline takes: processor time of the whole command with its default preset, one thread.

python benchmarks/baseline_seconds.py     (writes results/baseline_seconds.json)
"""

from __future__ import annotations

import datetime
import json
import resource
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
    """Of the processor, start-up and reading included: other work on the machine hardly changes it."""
    before = processor_time()
    with tempfile.TemporaryDirectory() as scratch:
        words = ["train", graph, "--method", method, "--preset", preset, "--out", f"{scratch}/run"]
        subprocess.run([sys.executable, "-m", "confgcn", *words], capture_output=True, check=True)
    return round(processor_time() - before, 2)


def processor_time() -> float:
    """Of all commands that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
