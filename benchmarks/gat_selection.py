"""Comparison of selection rules for GAT on the validation nodes: half of them select the epoch, the others evaluate it.

python benchmarks/gat_selection.py     (writes results/gat_selection.json)
"""

from __future__ import annotations

import datetime
import statistics
from dataclasses import replace
from typing import Any

import torch
from recorded import write

from confgcn import load_graph
from confgcn.evaluation.metrics import accuracy
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.runs.settings import resolve
from confgcn.runs.train import trained_loop

GRAPHS = ("citeseer", "cora", "pubmed")
RULES = ("best_of_both", "best_validation_loss", "best_validation_accuracy")
SEEDS = 6


def main() -> None:
    """Every rule on every graph; the runs of a seed differ only in the rule."""
    found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "seeds": SEEDS}
    for name in GRAPHS:
        graph = load_graph(name)
        with computing_with(1):
            accuracies = {rule: [held_out_accuracy(graph, rule, seed) for seed in range(SEEDS)] for rule in RULES}
        found[name] = {rule: {"mean": statistics.fmean(a), "each": a} for rule, a in accuracies.items()}
        write("gat_selection", found)
        print(name, {rule: round(100 * summary["mean"], 1) for rule, summary in found[name].items()})


def held_out_accuracy(graph: Graph, rule: str, seed: int) -> float:
    """Train with a half of the validation nodes drawn by the seed; the accuracy on the other half."""
    shuffled = graph.validation[torch.randperm(len(graph.validation), generator=torch.Generator().manual_seed(seed))]
    selecting, others = (half.sort().values for half in shuffled.chunk(2))
    halved = replace(graph, validation=selecting, test=graph.test[:0])
    loop = trained_loop(halved, resolve("gat", "reference", graph.name, {"select": rule}), seed=seed)
    return accuracy(loop.predict().logits[others], graph.labels[others])


if __name__ == "__main__":
    main()
