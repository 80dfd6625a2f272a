"""Do the presets of ConfGCN still give the accuracies that are recorded in reproduction/results?

Trains every preset with the first seeds on the four benchmark graphs, and compares each run's test accuracy with the
recorded run of the same seed. Predictions of a few nodes may differ: sums are formed in another order when code
changes.

For example: python benchmarks/recorded_accuracies.py --seeds 3
"""

from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "recorded_accuracies.json"
GRAPHS = ("citeseer", "cora", "pubmed", "cora_ml")
TABLES = {"released": "confidence.csv", "paper": "results.csv", "consensus": "confidence.csv"}
ROUNDING = 0.002  # two of a thousand test nodes, in the mean over seeds


def main() -> None:
    """Print and record one row for each preset and graph; the exit code is 1 where one differs."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", type=int, default=3)
    seeds = arguments.parse_args().seeds
    rows = [compared(preset, graph, seeds) for preset in TABLES for graph in GRAPHS]
    RESULTS.write_text(json.dumps(rows, indent=2) + "\n")
    sys.exit(any(abs(row["difference"]) > ROUNDING for row in rows))


def compared(preset: str, graph: str, seeds: int) -> dict[str, object]:
    """The recorded accuracies of one preset on one graph, and those of this code."""
    before, now = recorded(preset, graph, seeds), trained(preset, graph, seeds)
    difference = statistics.fmean(now) - statistics.fmean(before)
    print(f"{preset:10} {graph:9} recorded {before}, now {now}, mean {difference:+.4f}", flush=True)
    return {"preset": preset, "graph": graph, "recorded": before, "now": now, "difference": round(difference, 6)}


def recorded(preset: str, graph: str, seeds: int) -> list[float]:
    """Test accuracies of the unchanged preset, by seed."""
    with (ROOT / "reproduction" / "results" / TABLES[preset]).open() as stream:
        rows = [row for row in csv.DictReader(stream) if (row["method"], row["preset"]) == ("confgcn", preset)]
    found = {row["seed"]: row["test_accuracy"] for row in rows if row["dataset"] == graph and not row["changes"]}
    return [round(float(found[str(seed)]), 4) for seed in range(seeds)]


def trained(preset: str, graph: str, seeds: int) -> list[float]:
    """The same from the command line, as a user runs it."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["train", graph, "--preset", preset, "--seeds", str(seeds), "--json", "--out", f"{folder}/run"]
        done = subprocess.run([sys.executable, "-m", "confgcn", *words], capture_output=True, text=True, check=True)
    return [round(run["test_accuracy"], 4) for run in json.loads(done.stdout)["runs"]]


if __name__ == "__main__":
    main()
