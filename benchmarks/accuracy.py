"""Accuracy of every method and preset on the paper's graphs: `make bench`.

python benchmarks/accuracy.py [GRAPH ...] [--methods METHOD ...] [--presets PRESET ...]     (with names, those alone)

Each row runs `confgcn train GRAPH --seeds N` with a preset, untouched but for the options named in the row, and is
appended to benchmarks/results/accuracy.jsonl as it comes; rows that are there already are not run again.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from baseline_tables import PRESETS

RESULTS = Path(__file__).parent / "results" / "accuracy.jsonl"
SEEDS = {"cora": 20, "citeseer": 20, "pubmed": 10, "cora_ml": 10, "demo": 10}
BASELINE_SEEDS = 10
SLOW, SLOW_SEEDS = ("deepwalk", "planetoid", "ggnn", "gpnn"), 3  # for presets that are not in the main table
ON_DEMO = ("confgcn", "gcn")  # the others are compared on the paper's graphs alone
SOLVED = ("label_propagation", "mani_reg", "taco")  # nothing is drawn but, on cora_ml, the split
CONFGCN_VARIANTS = (
    ("confgcn", "released", ()),
    ("confgcn", "released", ("--influence", "uniform")),
    ("confgcn", "paper", ()),
    ("confgcn", "paper", ("--set", "normalisation=softmax")),
    ("confgcn", "paper", ("--set", "dropout=0.5")),
    ("confgcn", "paper", ("--set", "normalisation=softmax", "--set", "dropout=0.5")),
)
BASELINE_VARIANTS = tuple((method, preset, ()) for method, presets in PRESETS.items() for preset in presets)


def main(graphs: list[str], methods: list[str], presets: list[str]) -> None:
    """Run what is missing."""
    RESULTS.parent.mkdir(exist_ok=True)
    for graph in graphs or SEEDS:
        for method, preset, extra in (*CONFGCN_VARIANTS, *BASELINE_VARIANTS):
            if (methods and method not in methods) or (presets and preset not in presets):
                continue
            if graph == "demo" and method not in ON_DEMO:
                continue
            seeds = str(num_seeds(graph, method, preset))
            words = ["train", graph, "--method", method, "--preset", preset, "--seeds", seeds, *extra]
            command = " ".join(["confgcn", *words])
            if command not in done():
                run(command, words)


def num_seeds(graph: str, method: str, preset: str) -> int:
    """How many runs a row is made of."""
    if method in ON_DEMO:
        return SEEDS[graph]
    if method in SLOW and not preset.startswith("tuned"):
        return SLOW_SEEDS
    return 1 if method in SOLVED and graph != "cora_ml" else BASELINE_SEEDS


def done() -> set[str]:
    """The commands whose results are recorded."""
    lines = RESULTS.read_text().splitlines() if RESULTS.is_file() else []
    return {json.loads(line)["command"] for line in lines}


def run(command: str, words: list[str]) -> None:
    """One row of the table. Where a seed fails, the seeds are run one by one and the failed ones counted."""
    summary = trained(words)
    failures: list[str] = []
    if isinstance(summary, str):
        count = int(words[words.index("--seeds") + 1])
        each = [
            trained([*words, "--seeds", "1", "--seed", str(seed), "--split-seed", str(seed)]) for seed in range(count)
        ]
        failures = [found for found in each if isinstance(found, str)]
        summary = together([found for found in each if not isinstance(found, str)])
    row = {"command": command, "date": datetime.date.today().isoformat(), "failures": failures, **summary}
    with RESULTS.open("a") as stream:
        stream.write(json.dumps(row) + "\n")


def trained(words: list[str]) -> dict[str, Any] | str:
    """What is kept of a run, or the error it ended with."""
    with tempfile.TemporaryDirectory() as scratch:
        options = ["--json", "--out", f"{scratch}/run"]
        process = subprocess.run([sys.executable, "-m", "confgcn", *words, *options], capture_output=True, text=True)
    if process.returncode:
        return process.stderr.splitlines()[-1].partition(". ")[0]
    summary = json.loads(process.stdout)
    keys = ("test_accuracy", "test_accuracy_std", "validation_accuracy", "seconds", "seeds", "settings_of")
    return {
        **{key: summary[key] for key in keys},
        "test_accuracies": [run["test_accuracy"] for run in summary["runs"]],
        "confidence": [run["confidence"] for run in summary["runs"]],
    }


def together(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Runs of one seed each as one row, which has no accuracy where too few of them ended."""
    if len(runs) < 2:
        return {"seeds": len(runs)}
    accuracies = [run["test_accuracy"] for run in runs]
    return {
        "test_accuracy": statistics.fmean(accuracies),
        "test_accuracy_std": statistics.stdev(accuracies),
        "validation_accuracy": statistics.fmean(run["validation_accuracy"] for run in runs),
        "seconds": sum(run["seconds"] for run in runs),
        "seeds": len(runs),
        "settings_of": runs[0]["settings_of"],
        "test_accuracies": accuracies,
        "confidence": [run["confidence"][0] for run in runs],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", help=", ".join(SEEDS))
    parser.add_argument("--methods", nargs="+", default=[], help=", ".join(["confgcn", *PRESETS]))
    parser.add_argument("--presets", nargs="+", default=[])
    arguments = parser.parse_args()
    main(arguments.graphs, arguments.methods, arguments.presets)
