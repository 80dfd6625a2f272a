"""Are nodes that come after training predicted as well as if they had been there? A tenth is taken out, then added.

python benchmarks/new_nodes.py     (writes results/new_nodes.json)
"""

from __future__ import annotations

import datetime
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import t

from confgcn import RunRequest, load_graph
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.evaluation.metrics import accuracy
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.runs.new_nodes import predict_new_nodes
from confgcn.runs.request import run_config
from confgcn.runs.saved import as_saved
from confgcn.runs.train import fit_in_memory, trained_loop

RESULTS = Path(__file__).parent / "results" / "new_nodes.json"
GRAPHS = ("cora", "pubmed")
DRAWS = 10
SHARE = 0.1  # of all nodes; of those that are neither trained nor validated on


def main() -> None:
    """Draw by draw: trained without the nodes and extended, against trained with them, both by the same seed."""
    found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "draws": DRAWS, "share": SHARE}
    for name in GRAPHS:
        graph = load_graph(name)
        with computing_with(1):
            draws = [one_draw(graph, seed) for seed in range(DRAWS)]
        found[name] = {"nodes": graph.num_nodes, "each": draws, **summarised(draws)}
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
        print(name, {key: value for key, value in found[name].items() if key != "each"})


def one_draw(graph: Graph, seed: int) -> dict[str, float]:
    """Accuracy on the nodes of the draw both ways, how sure the new ones are, and how long they take."""
    new, old = drawn(graph, seed)
    request = RunRequest(graph.name, seed=seed)
    raw = raw_from_graph(graph)
    run = fit_in_memory(part(raw, old).build(), request.settings(), run_config(request), notify=lambda _: None)
    started = time.perf_counter()
    found = predict_new_nodes(as_saved(run), run.graph, raw)
    seconds = time.perf_counter() - started
    assert torch.equal(found.extension.new, new)
    labels = graph.labels[new]
    confidence, label = found.assessment.probabilities[new].max(1)
    with_them = trained_loop(graph, request.settings(), seed=seed).predict().logits[new]
    return {
        "extended": accuracy(found.prediction.logits[new], labels),
        "trained_with": accuracy(with_them, labels),
        "confidence": float(confidence.mean()),
        "accuracy_of_label": float((label == labels).double().mean()),
        "milliseconds_per_node": 1000 * seconds / len(new),
    }


def drawn(graph: Graph, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The nodes to take out and the others, sorted."""
    spoken_for = torch.cat([graph.train, graph.validation])
    free = np.setdiff1d(np.flatnonzero(graph.labels.numpy() >= 0), spoken_for.numpy())
    new = np.sort(np.random.RandomState(seed).permutation(free)[: int(SHARE * graph.num_nodes)])
    old = np.setdiff1d(np.arange(graph.num_nodes), new)
    return torch.from_numpy(new), torch.from_numpy(old)


def part(raw: RawGraph, nodes: torch.Tensor) -> RawGraph:
    """What is left of a graph without the others."""
    kept = nodes.numpy()
    place = np.full(len(raw.ids), -1)
    place[kept] = np.arange(len(kept))
    edges = place[raw.edges]
    return RawGraph(
        raw.name,
        [raw.ids[node] for node in kept],
        edges[(edges >= 0).all(1)],
        raw.features[kept],
        raw.feature_names,
        None if raw.labels is None else [raw.labels[node] for node in kept],
        None if raw.split is None else [raw.split[node] for node in kept],
        raw.class_names,
    )


def summarised(draws: list[dict[str, float]]) -> dict[str, Any]:
    """Means over the draws, and the interval of the paired difference."""
    differences = [draw["extended"] - draw["trained_with"] for draw in draws]
    mean, error = statistics.fmean(differences), statistics.stdev(differences) / len(differences) ** 0.5
    low, high = t.interval(0.95, len(differences) - 1, mean, error)
    means = {key: statistics.fmean(draw[key] for draw in draws) for key in draws[0]}
    deviations = {f"{key}_std": statistics.stdev(draw[key] for draw in draws) for key in ("extended", "trained_with")}
    return {**means, **deviations, "difference": mean, "low": float(low), "high": float(high)}


if __name__ == "__main__":
    main()
