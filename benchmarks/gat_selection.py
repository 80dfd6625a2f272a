"""Which of GAT's epochs should be kept? Asked of the validation nodes alone: half of them select, the others judge.

python benchmarks/gat_selection.py     (writes results/gat_selection.json)
"""

from __future__ import annotations

import datetime
import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from confgcn import load_graph
from confgcn.evaluation.metrics import accuracy
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.runs.settings import resolve
from confgcn.runs.train import trained_loop

RESULTS = Path(__file__).parent / "results" / "gat_selection.json"
GRAPHS = ("citeseer", "cora", "pubmed")
RULES = ("best_of_both", "best_validation_loss", "best_validation_accuracy")
SEEDS = 6


def main() -> None:
    """Every rule on every graph; the runs of a seed differ in the rule alone."""
    found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "seeds": SEEDS}
    for name in GRAPHS:
        graph = load_graph(name)
        with computing_with(1):
            judged = {rule: [accuracy_of_others(graph, rule, seed) for seed in range(SEEDS)] for rule in RULES}
        found[name] = {rule: {"mean": statistics.fmean(a), "each": a} for rule, a in judged.items()}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        print(name, {rule: round(100 * summary["mean"], 1) for rule, summary in found[name].items()})


def accuracy_of_others(graph: Graph, rule: str, seed: int) -> float:
    """Train with a half of the validation nodes drawn by the seed; the accuracy on the other half."""
    shuffled = graph.validation[torch.randperm(len(graph.validation), generator=torch.Generator().manual_seed(seed))]
    ours, others = (half.sort().values for half in shuffled.chunk(2))
    halved = replace(graph, validation=ours, test=graph.test[:0])
    loop = trained_loop(halved, resolve("gat", "reference", graph.name, {"select": rule}), seed=seed)
    return accuracy(loop.predict().logits[others], graph.labels[others])


if __name__ == "__main__":
    main()
