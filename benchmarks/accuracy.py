"""Accuracy of every method and preset on the paper's graphs: `make bench`, or with names of graphs to do only those.

Each row runs `confgcn train GRAPH --seeds N` with a preset, untouched but for the options named in the row, and is
appended to benchmarks/results/accuracy.jsonl as it comes; rows that are there already are not run again.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results" / "accuracy.jsonl"
SEEDS = {"cora": 20, "citeseer": 20, "pubmed": 10, "cora_ml": 10, "demo": 10}
VARIANTS = (
    ("confgcn", "released", ()),
    ("confgcn", "released", ("--influence", "uniform")),
    ("confgcn", "paper", ()),
    ("confgcn", "paper", ("--set", "normalisation=softmax")),
    ("confgcn", "paper", ("--set", "dropout=0.5")),
    ("confgcn", "paper", ("--set", "normalisation=softmax", "--set", "dropout=0.5")),
    ("gcn", "tuned", ()),
    ("gcn", "reference", ()),
)


def main(graphs: list[str]) -> None:
    """Run what is missing."""
    RESULTS.parent.mkdir(exist_ok=True)
    for graph in graphs or SEEDS:
        for method, preset, extra in VARIANTS:
            words = ["train", graph, "--method", method, "--preset", preset, "--seeds", str(SEEDS[graph]), *extra]
            command = " ".join(["confgcn", *words])
            if command not in done():
                run(command, words)


def done() -> set[str]:
    """The commands whose results are recorded."""
    lines = RESULTS.read_text().splitlines() if RESULTS.is_file() else []
    return {json.loads(line)["command"] for line in lines}


def run(command: str, words: list[str]) -> None:
    """One row of the table; a run that fails is a row too, and does not stop the rest."""
    with tempfile.TemporaryDirectory() as scratch:
        options = ["--json", "--out", f"{scratch}/run"]
        process = subprocess.run([sys.executable, "-m", "confgcn", *words, *options], capture_output=True, text=True)
    row = {"command": command, "date": datetime.date.today().isoformat()}
    row |= (
        {"failed": process.stderr.splitlines()[-1].partition(". ")[0]}
        if process.returncode
        else result(json.loads(process.stdout))
    )
    with RESULTS.open("a") as stream:
        stream.write(json.dumps(row) + "\n")


def result(summary: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a summary."""
    keys = ("test_accuracy", "test_accuracy_std", "validation_accuracy", "seconds", "seeds", "settings_of")
    return {
        **{key: summary[key] for key in keys},
        "test_accuracies": [run["test_accuracy"] for run in summary["runs"]],
        "confidence": [run["confidence"] for run in summary["runs"]],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
