"""Accuracy on nodes that are added after training, compared with nodes present at training.

python benchmarks/new_nodes.py     (writes results/new_nodes.json)

A tenth of the nodes is removed before training and added afterwards.
"""

from __future__ import annotations

import datetime
import statistics
import time
from typing import Any

import numpy as np
import torch
from recorded import read, table, write
from scipy.stats import t

from confgcn import RunRequest, load_graph
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.evaluation.metrics import accuracy
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.runs.new_nodes import predict_new_nodes
from confgcn.runs.request import run_config
from confgcn.runs.train import fit_in_memory, trained_loop

GRAPHS = ("cora", "pubmed")
DRAWS = 10
SHARE = 0.1  # of all nodes, drawn from those used for neither training nor validation


def main() -> None:
    """Every draw: trained without the nodes and extended, and trained with them, with the same seed."""
    found: dict[str, Any] = {"date": datetime.date.today().isoformat(), "draws": DRAWS, "share": SHARE}
    for name in GRAPHS:
        graph = load_graph(name)
        with computing_with(1):
            draws = [one_draw(graph, seed) for seed in range(DRAWS)]
        found[name] = {"nodes": graph.num_nodes, "each": draws, **summarised(draws)}
        write("new_nodes", found)
        print(name, {key: value for key, value in found[name].items() if key != "each"})


def one_draw(graph: Graph, seed: int) -> dict[str, float]:
    """Accuracy on the drawn nodes both ways, the confidence of the new ones, and the time to predict them."""
    new, old = drawn(graph, seed)
    request = RunRequest(graph.name, seed=seed)
    raw = raw_from_graph(graph)
    run = fit_in_memory(induced(raw, old).build(), request.settings(), run_config(request), notify=lambda _: None)
    started = time.perf_counter()
    found = predict_new_nodes(run, raw)
    seconds = time.perf_counter() - started
    assert torch.equal(found.extended.extension.new, new)
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
    """The removed nodes and the others, sorted."""
    used = torch.cat([graph.train, graph.validation])
    free = np.setdiff1d(np.flatnonzero(graph.labels.numpy() >= 0), used.numpy())
    new = np.sort(np.random.RandomState(seed).permutation(free)[: int(SHARE * graph.num_nodes)])
    old = np.setdiff1d(np.arange(graph.num_nodes), new)
    return torch.from_numpy(new), torch.from_numpy(old)


def induced(raw: RawGraph, nodes: torch.Tensor) -> RawGraph:
    """The subgraph on these nodes."""
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


def blocks() -> dict[str, str]:
    """The table, by the name of its place in the documents."""
    return {"new nodes": new_nodes_table()}


def new_nodes_table() -> str:
    """Accuracy on new nodes, and on the same nodes when present at training."""
    found = read("new_nodes")
    graphs = [name for name in found if isinstance(found[name], dict)]
    rows = {
        "new nodes": lambda g: f"{g['nodes'] * found['share']:,.0f} of {g['nodes']:,}",
        "accuracy, added after training, %": lambda g: _percent(g["extended"], g["extended_std"]),
        "accuracy, present at training, %": lambda g: _percent(g["trained_with"], g["trained_with_std"]),
        "difference, points": lambda g: f"{_signed(g['difference'])} [{_signed(g['low'])}, {_signed(g['high'])}]",
        "mean probability of the new nodes, %": lambda g: f"{100 * g['confidence']:.1f}",
        "milliseconds per node": lambda g: f"{g['milliseconds_per_node']:.1f}",
    }
    cells = [[title, *(show(found[name]) for name in graphs)] for title, show in rows.items()]
    source = f"{found['draws']} draws, {found['date']}, `python benchmarks/new_nodes.py`."
    return f"{table(['', *graphs], cells)}\n{source}\n"


def _percent(mean: float, deviation: float) -> str:
    return f"{100 * mean:.1f} ± {100 * deviation:.1f}"


def _signed(value: float) -> str:
    return f"{100 * value:+.2f}".replace("-", "−")


if __name__ == "__main__":
    main()
