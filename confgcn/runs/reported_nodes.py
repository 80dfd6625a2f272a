"""What the page of a run says of single nodes: every quantity of those that can be looked at, and the tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from confgcn.exceptions import CorruptFileError
from confgcn.graph import Graph
from confgcn.runs.prediction_table import in_set
from confgcn.runs.run_tables import ANSWERS, Findings, Row
from confgcn.runs.saved import Judged

MOST_NODES = 20_000  # that can be looked at: as many as a page of ten classes has room for
TABLE_ROWS = 20
SPLITS = ("", "train", "validation", "test")


def collect_nodes(judged: Judged, findings: Findings) -> dict[str, Any]:
    """``nodes`` and ``neighbours``, by place among the shown ones, and ``tables``, which name such places."""
    graph = judged.graph
    if findings.predictions and len(findings.predictions) != graph.num_nodes:
        raise CorruptFileError(
            f"predictions.csv: expected a row for each of {graph.num_nodes} nodes, got {len(findings.predictions)}"
        )
    most_confident, least_confident = _by_confidence(judged)
    named = {name: node for node, name in enumerate(graph.node_names)}
    doubtful = [named.get(row["node"]) for row in findings.labels[:TABLE_ROWS]]
    doubtful += [named.get(row[key]) for row in findings.edges[:TABLE_ROWS] for key in ("node", "neighbour")]
    first = list(dict.fromkeys([*least_confident, *most_confident, *(node for node in doubtful if node is not None)]))
    rank = _walked_order(graph, first)
    shown = (rank < MOST_NODES).nonzero().squeeze(1)
    places = torch.full((graph.num_nodes,), -1).index_copy(0, shown, torch.arange(len(shown)))
    place_of = {name: int(places[node]) for name, node in named.items() if places[node] >= 0}
    return {
        "nodes": {**_nodes(judged, findings.predictions, shown), "rank": rank[shown].tolist()},
        "neighbours": _neighbours(judged, shown, places),
        "tables": {
            "most_confident": places[most_confident].tolist(),
            "least_confident": places[least_confident].tolist(),
            "labels": [{**row, "place": place_of.get(row["node"])} for row in findings.labels[:TABLE_ROWS]],
            "num_label_errors": sum(float(row["score"]) > 0 for row in findings.labels),
            "edges": [
                {**row, "place": place_of.get(row["node"]), "other": place_of.get(row["neighbour"])}
                for row in findings.edges[:TABLE_ROWS]
            ],
        },
    }


def _by_confidence(judged: Judged) -> tuple[list[int], list[int]]:
    """Of the nodes without a given label those of which the run is most sure, and those of which it is least."""
    asked = torch.ones(judged.graph.num_nodes, dtype=torch.bool).index_fill_(0, judged.graph.train, False)
    nodes = asked.nonzero().squeeze(1)
    order = nodes[torch.argsort(_confidence(judged)[nodes], stable=True)].tolist()
    return order[::-1][:TABLE_ROWS], order[:TABLE_ROWS]


def _confidence(judged: Judged) -> Tensor:
    """The calibrated probability of the predicted label, (N,)."""
    label = judged.prediction.logits.argmax(-1, keepdim=True)
    return judged.probabilities.gather(1, label).squeeze(1)


def _walked_order(graph: Graph, first: Sequence[int]) -> Tensor:
    """In which order nodes are come upon, breadth first from these, then the rest as they stand, (N,)."""
    rank = torch.full((graph.num_nodes,), -1)
    frontier, count = torch.tensor(first, dtype=torch.long), 0
    while len(frontier):
        rank[frontier] = torch.arange(count, count + len(frontier))
        count += len(frontier)
        reached = graph.adjacency.at_rows(frontier)[0].indices.unique()
        frontier = reached[rank[reached] < 0]
    rest = (rank < 0).nonzero().squeeze(1)
    rank[rest] = torch.arange(count, graph.num_nodes)
    return rank


def _nodes(judged: Judged, rows: list[Row], shown: Tensor) -> dict[str, Any]:
    graph, prediction = judged.graph, judged.prediction
    places = shown.tolist()
    split = graph.split_names()
    precision = None if prediction.precision is None else prediction.precision.clamp(min=0.0)
    written = [rows[node] for node in places] if rows else []
    own = None if prediction.influence is None else _own_influence(graph, prediction.influence)
    return {
        "names": [graph.node_names[node] for node in places],
        "label": prediction.logits.argmax(-1)[shown].tolist(),
        "known": graph.labels[shown].tolist(),
        "split": [SPLITS.index(split[node]) for node in places],
        "degree": graph.degrees[shown].tolist(),
        "probability": judged.probabilities[shown].tolist(),
        "mu": _listed(prediction.mu, shown),
        "precision": _listed(precision, shown),
        "own": _listed(own, shown),
        "evidence": _listed(prediction.evidence, shown),
        "novelty": [float(row["novelty"]) for row in written] or None,
        "accepted": _answers(written),
        "sets": _sets(written, graph.class_names),
        "top_neighbour": [row.get("top_neighbour", "") for row in written] or None,
    }


def _answers(rows: list[Row]) -> list[int] | None:
    """May each label be accepted? None where that was not asked of any."""
    return [ANSWERS.index(row["accepted"]) for row in rows] if any(row["accepted"] for row in rows) else None


def _listed(values: Tensor | None, shown: Tensor) -> list[Any] | None:
    if values is None:
        return None
    found: list[Any] = values[shown].tolist()
    return found


def _own_influence(graph: Graph, influence: Tensor) -> Tensor:
    """What each node makes of itself, (N,)."""
    on_diagonal = graph.adjacency.rows == graph.adjacency.indices
    return influence[on_diagonal]


def _sets(rows: list[Row], classes: Sequence[str]) -> list[list[int]] | None:
    if not any(row["set"] for row in rows):
        return None
    found = {text: read_set(text, classes) for text in {row["set"] for row in rows}}
    return [found[row["set"]] for row in rows]


def read_set(text: str, classes: Sequence[str]) -> list[int]:
    """The classes of a prediction set as it is written: in their order, joined by ``|``."""
    found = []
    for number, name in enumerate(classes):
        written = in_set(name)
        if text == written or text.startswith(written + "|"):
            found.append(number)
            text = text[len(written) + 1 :]
    return found


def _neighbours(judged: Judged, shown: Tensor, places: Tensor) -> dict[str, Any]:
    """The shown neighbours of each shown node, those of the largest influence first: ``start`` (n + 1,), ``node``."""
    edges, where = judged.graph.adjacency.without_diagonal
    influence = judged.prediction.influence
    weight = None if influence is None else influence[where]
    order = torch.arange(len(edges.indices)) if weight is None else torch.argsort(weight, descending=True, stable=True)
    order = order[torch.argsort(edges.rows[order], stable=True)]
    order = order[(places[edges.rows[order]] >= 0) & (places[edges.indices[order]] >= 0)]
    counts = torch.bincount(places[edges.rows[order]], minlength=len(shown))
    return {
        "start": [0, *counts.cumsum(0).tolist()],
        "node": places[edges.indices[order]].tolist(),
        "influence": None if weight is None else weight[order].tolist(),
    }
