"""What is said of every node, as a table with one row per node: predictions.csv."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from confgcn.confidence.assessment import Assessment
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.runs.csv_table import Columns, numbers

ROWS_AT_ONCE = 10_000  # texts of so many rows are held: about 90 MB with forty classes


def prediction_blocks(graph: Graph, prediction: Prediction, assessment: Assessment) -> Iterator[Columns]:
    """The table of all nodes, some rows at a time."""
    for nodes in torch.arange(graph.num_nodes).split(ROWS_AT_ONCE):
        yield prediction_table(graph, prediction, assessment, nodes)


def prediction_table(graph: Graph, prediction: Prediction, assessment: Assessment, nodes: Tensor) -> Columns:
    """One row for each of these nodes: what is predicted, how far to trust it, why, and what the method holds of every
    label.

    The columns are laid out in docs/run_directory.md.
    """
    names, logits, probabilities = graph.class_names, prediction.logits[nodes], assessment.probabilities[nodes]
    label = logits.argmax(-1, keepdim=True)
    columns: Columns = {
        "node": [graph.node_names[node] for node in nodes.tolist()],
        "label": [names[c] for c in label.squeeze(1).tolist()],
        "probability": numbers(probabilities.gather(1, label).squeeze(1)),
        "raw_probability": numbers(logits.softmax(-1).gather(1, label).squeeze(1)),
        **_to_act_on(graph, prediction, assessment, nodes),
        "split": graph.split_names(nodes),
    }
    precision = None if prediction.precision is None else prediction.precision[nodes].clamp(min=0.0)
    mu = None if prediction.mu is None else prediction.mu[nodes]
    for quantity, values in {"probability": probabilities, "mu": mu, "precision": precision}.items():
        if values is not None:
            columns |= {f"{quantity}_{n}": numbers(column) for n, column in zip(names, values.T, strict=True)}
    return columns


def _to_act_on(graph: Graph, prediction: Prediction, assessment: Assessment, nodes: Tensor) -> Columns:
    columns: Columns = {
        "set": _sets(graph, assessment.sets, nodes),
        "accepted": _accepted(assessment, nodes),
        "novelty": numbers(assessment.novelty[nodes]),
        "label_error_score": _label_error_score(assessment, nodes),
    }
    if prediction.influence is not None:
        columns["top_neighbour"] = _top_neighbour(graph, prediction.influence, nodes)
    if prediction.evidence is not None:
        columns["evidence"] = numbers(prediction.evidence[nodes])
    return columns


def _sets(graph: Graph, sets: Tensor | None, nodes: Tensor) -> list[str]:
    """The labels of the set of each node, joined; "" where there are no sets."""
    if sets is None:
        return [""] * len(nodes)
    names = [in_set(name) for name in graph.class_names]
    chosen = sets[nodes]
    labels = iter(chosen.nonzero()[:, 1].tolist())
    return ["|".join(names[next(labels)] for _ in range(size)) for size in chosen.sum(1).tolist()]


def in_set(name: str) -> str:
    r"""A class as it stands in a set, whose labels are joined by ``|``: a backslash before each ``|`` and backslash."""
    return name.replace("\\", r"\\").replace("|", r"\|")


def _accepted(assessment: Assessment, nodes: Tensor) -> list[str]:
    """``yes`` or ``no``; "" where it is not asked."""
    if assessment.decision is None:
        return [""] * len(nodes)
    asked = torch.zeros(len(assessment.probabilities), dtype=torch.bool).index_fill_(0, assessment.candidates, True)
    answers = zip(asked[nodes].tolist(), assessment.accepted[nodes].tolist(), strict=True)
    return [("yes" if accepted else "no") if is_asked else "" for is_asked, accepted in answers]


def _label_error_score(assessment: Assessment, nodes: Tensor) -> list[str]:
    """The score of each training label; "" for other nodes."""
    place = torch.full((len(assessment.probabilities),), -1)
    place[assessment.label_errors.nodes] = torch.arange(len(assessment.label_errors.nodes))
    found = place[nodes]
    scores = iter(numbers(assessment.label_errors.score[found[found >= 0]]))
    return [next(scores) if is_scored else "" for is_scored in (found >= 0).tolist()]


def _top_neighbour(graph: Graph, influence: Tensor, nodes: Tensor) -> list[str]:
    """The neighbour of the largest influence on each node, the first of equals; "" where there is none."""
    edges, places = graph.neighbours.at_rows(nodes)
    of_edges = influence[graph.adjacency.without_diagonal[1][places]]
    order = torch.argsort(of_edges, descending=True, stable=True)
    order = order[torch.argsort(edges.rows[order], stable=True)]
    heard = edges.indptr.diff() > 0
    sources = iter(edges.indices[order[edges.indptr[:-1][heard]]].tolist())
    return [graph.node_names[next(sources)] if is_heard else "" for is_heard in heard.tolist()]
