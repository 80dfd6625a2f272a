"""How many labels does it take? Accuracy and confidences of the default preset from few labels and none to spare.

python benchmarks/labels.py [GRAPH ...]     (writes results/labels-GRAPH.json)
"""

from __future__ import annotations

import datetime
import json
import statistics
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from confgcn import RunRequest, load_graph
from confgcn.evaluation.calibration_error import expected_calibration_error
from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.runs.cross_validation import FEWEST_LABELS
from confgcn.runs.request import run_config
from confgcn.runs.saved import as_saved
from confgcn.runs.train import fit_in_memory

RESULTS = Path(__file__).parent / "results"
GRAPHS = ("citeseer", "cora", "pubmed")
PER_CLASS = (2, 5, 10, 20, 50)
DRAWS = 3
MAX_ERROR = 0.1


def main() -> None:
    """Every number of labels on every graph; no validation nodes, so that each label is held out in turn."""
    for name in sys.argv[1:] or GRAPHS:
        graph = load_graph(name)
        found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "draws": DRAWS, "max_error": MAX_ERROR}
        for per_class in PER_CLASS:
            if per_class * graph.num_classes < FEWEST_LABELS:
                continue  # which is refused
            with computing_with(1):
                draws = [one_draw(graph, per_class, seed) for seed in range(DRAWS)]
            found[str(per_class)] = {key: summary([draw[key] for draw in draws]) for key in draws[0]}
            (RESULTS / f"labels-{name}.json").write_text(json.dumps(found, indent=1) + "\n")
            print(name, per_class, {key: each["mean"] for key, each in found[str(per_class)].items()}, flush=True)


def one_draw(graph: Graph, per_class: int, seed: int) -> dict[str, float | None]:
    """Train on labels drawn by the seed, and measure on all other labelled nodes."""
    drawn = with_labels(graph, per_class, seed)
    request = RunRequest(drawn, seed=seed)
    run = fit_in_memory(drawn, request.settings(), run_config(request), notify=lambda _: None)
    others = torch.from_numpy(np.setdiff1d(np.flatnonzero(graph.labels.numpy() >= 0), drawn.train.numpy()))
    labels = graph.labels[others]
    _, _, assessment = as_saved(run).assessed(run.graph, max_error=MAX_ERROR)
    confidence, predicted = assessment.probabilities[others].max(1)
    correct = predicted == labels
    accepted = assessment.accepted[others]
    sets = assessment.sets[others]
    return {
        "accuracy": float(correct.double().mean()),
        "held_out_accuracy": run.metrics["held_out_accuracy"],
        "confidence": float(confidence.mean()),
        "ece": expected_calibration_error(confidence, correct),
        "coverage": float(sets.gather(1, labels[:, None]).double().mean()),
        "set_size": float(sets.sum(1).double().mean()),
        "accepted": float(accepted.double().mean()),
        "error_of_accepted": float((~correct[accepted]).double().mean()) if accepted.any() else None,
    }


def with_labels(graph: Graph, per_class: int, seed: int) -> Graph:
    """The graph with so many training labels of each class and no other part of the split."""
    order = np.random.RandomState(seed).permutation(np.flatnonzero(graph.labels.numpy() >= 0))
    labels = graph.labels.numpy()[order]
    chosen = [order[labels == c][:per_class] for c in range(graph.num_classes)]
    if min(map(len, chosen)) < per_class:
        raise DataError(f"{graph.name}: a class has fewer than {per_class} labels")
    none = torch.empty(0, dtype=torch.long)
    return replace(graph, train=torch.from_numpy(np.sort(np.concatenate(chosen))), validation=none, test=none)


def summary(values: list[float | None]) -> dict[str, float | None]:
    """Mean and deviation of what was found; None where it never was."""
    known = [value for value in values if value is not None]
    deviation = statistics.stdev(known) if len(known) > 1 else None
    return {"mean": statistics.fmean(known) if known else None, "std": deviation, "draws": len(known)}


if __name__ == "__main__":
    main()
