"""Accuracy and confidences of the default preset by the number of labels, without validation labels.

python benchmarks/labels.py [GRAPH ...]     (writes results/labels-GRAPH.json)
"""

from __future__ import annotations

import datetime
import statistics
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from recorded import read, table, write

from confgcn import RunRequest, load_graph
from confgcn.evaluation.calibration_error import expected_calibration_error
from confgcn.exceptions import DataError
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.runs.cross_validation import FEWEST_LABELS
from confgcn.runs.request import run_config
from confgcn.runs.train import fit_in_memory

GRAPHS = ("citeseer", "cora", "pubmed")
PER_CLASS = (2, 5, 10, 20, 50)
DRAWS = 3
MAX_ERROR = 0.1


def main() -> None:
    """Every number of labels on every graph; without validation nodes, labels are held out by cross-validation."""
    for name in sys.argv[1:] or GRAPHS:
        graph = load_graph(name)
        found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "draws": DRAWS, "max_error": MAX_ERROR}
        for per_class in PER_CLASS:
            if per_class * graph.num_classes < FEWEST_LABELS:
                continue  # confgcn refuses so few labels
            with computing_with(1):
                draws = [one_draw(graph, per_class, seed) for seed in range(DRAWS)]
            found[str(per_class)] = {key: summary([draw[key] for draw in draws]) for key in draws[0]}
            write(f"labels-{name}", found)
            print(name, per_class, {key: each["mean"] for key, each in found[str(per_class)].items()}, flush=True)


def one_draw(graph: Graph, per_class: int, seed: int) -> dict[str, float | None]:
    """Train on labels drawn with the seed and evaluate on all other labelled nodes."""
    drawn = with_labels(graph, per_class, seed)
    request = RunRequest(drawn, seed=seed)
    run = fit_in_memory(drawn, request.settings(), run_config(request), notify=lambda _: None)
    others = torch.from_numpy(np.setdiff1d(np.flatnonzero(graph.labels.numpy() >= 0), drawn.train.numpy()))
    labels = graph.labels[others]
    assessment = run.with_targets(max_error=MAX_ERROR).assessment
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
    """The graph with ``per_class`` training labels of each class and no other split."""
    order = np.random.RandomState(seed).permutation(np.flatnonzero(graph.labels.numpy() >= 0))
    labels = graph.labels.numpy()[order]
    chosen = [order[labels == c][:per_class] for c in range(graph.num_classes)]
    if min(map(len, chosen)) < per_class:
        raise DataError(f"{graph.name}: a class has fewer than {per_class} labels")
    none = torch.empty(0, dtype=torch.long)
    return replace(graph, train=torch.from_numpy(np.sort(np.concatenate(chosen))), validation=none, test=none)


def summary(values: list[float | None]) -> dict[str, float | None]:
    """Mean and standard deviation of the known values; None without any."""
    known = [value for value in values if value is not None]
    deviation = statistics.stdev(known) if len(known) > 1 else None
    return {"mean": statistics.fmean(known) if known else None, "std": deviation, "draws": len(known)}


def blocks() -> dict[str, str]:
    """The tables, by the name of their place in the documents."""
    return {f"labels {name}": labels_table(name) for name in GRAPHS}


def labels_table(name: str) -> str:
    """Accuracy and confidences by the number of labels."""
    found = read(f"labels-{name}")
    counts = [key for key in found if key.isdigit()]
    error = f"{100 * found['max_error']:.0f} %"
    rows = {
        "accuracy on the other nodes, %": lambda c: _percent(c["accuracy"]["mean"], c["accuracy"]["std"]),
        "cross-validated accuracy, %": lambda c: _share(c["held_out_accuracy"]["mean"]),
        "mean probability, calibrated, %": lambda c: _share(c["confidence"]["mean"]),
        "calibration error, %": lambda c: _share(c["ece"]["mean"]),
        "coverage of 90 % sets, %": lambda c: _share(c["coverage"]["mean"]),
        "labels per set": lambda c: f"{c['set_size']['mean']:.1f}",
        f"accepted at an error of at most {error}, %": lambda c: _share(c["accepted"]["mean"]),
        "error among accepted nodes, %": lambda c: _share(c["error_of_accepted"]["mean"]),
    }
    cells = [[title, *(show(found[count]) for count in counts)] for title, show in rows.items()]
    source = f"{found['draws']} draws, {found['date']}, `python benchmarks/labels.py`."
    return f"{table([f'{name}: labels per class', *counts], cells)}\n{source}\n"


def _percent(mean: float, deviation: float) -> str:
    return f"{100 * mean:.1f} ± {100 * deviation:.1f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


if __name__ == "__main__":
    main()
