"""What a search found, as numbers for metrics.json: its candidates, the use of edges and of learned influence.

``confgcn.report.search_text`` turns these records into sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from confgcn.evaluation.metrics import log_loss
from confgcn.graph import Graph
from confgcn.models.confgcn.compatibility import estimate_compatibility
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.runs.result_notices import label_losses, mean_and_error

if TYPE_CHECKING:
    from confgcn.runs.search import Trained

ROUNDING = 1e-6  # of a compatibility in single precision
CLEAR = 2.0  # standard errors of a difference that is not taken for chance

NO_SEARCH: dict[str, Any] = {"search": None, "edges": None, "influence": None}  # of a run of one model


def candidate_records(
    trained: Sequence[Trained], probabilities: Sequence[Tensor], shares: Mapping[int, float], labels: Tensor
) -> list[dict[str, Any]]:
    """Every candidate with its settings, its held-out log loss and its share in the consensus.

    ``settings`` are those that differ from the preset. ``probabilities`` are the calibrated ones of each candidate for
    the held-out ``labels``, (n, C).
    """
    return [
        {
            "candidate": result.trial.candidate.name,
            "influence": result.trial.influence,
            "settings": dict(result.trial.candidate.changes),
            "log_loss": log_loss(probabilities[number], labels),
            "share": shares.get(number, 0.0),
        }
        for number, result in enumerate(trained)
    ]


def edges_record(
    graph: Graph, trained: Sequence[Trained], probabilities: Sequence[Tensor], labels: Tensor
) -> dict[str, Any] | None:
    """Whether the edges help to predict; None without candidates of both kinds, with and without edges.

    The best candidate that uses edges is compared with the best one that does not. The difference is clear if the mean
    of its paired differences over the held-out labels exceeds two standard errors; one would too often be chance where
    few labels are held out.

    - ``help``: clearly better with edges, and neighbours tend to have equal labels.
    - ``oppose``: clearly better with edges, and neighbours tend to have different labels: the mean diagonal of the
      compatibility H is below 1/C.
    - ``nothing``: not clearly better with edges.
    """
    losses = [label_losses(rows, labels) for rows in probabilities]
    groups: dict[bool, list[Tensor]] = {True: [], False: []}
    for result, of_labels in zip(trained, losses, strict=True):
        groups[uses_edges(result.method)].append(of_labels)
    if not (groups[True] and groups[False]) or len(labels) < 2:
        return None
    best, alone = (min(group, key=lambda of_labels: float(of_labels.mean())) for group in groups.values())
    gain, error = mean_and_error(alone - best)
    diagonal = float(estimate_compatibility(graph).diagonal().mean())
    opposes = diagonal < 1.0 / graph.num_classes - ROUNDING
    return {
        "code": ("oppose" if opposes else "help") if gain > CLEAR * error else "nothing",
        "log_loss_with": float(best.mean()),
        "log_loss_without": float(alone.mean()),
        "standard_error": error,
        "held_out_labels": len(labels),
        "compatibility_diagonal": diagonal,
    }


def influence_record(
    trained: Sequence[Trained],
    probabilities: Sequence[Tensor],
    shares: Mapping[int, float],
    uniform_shares: Mapping[int, float],
    labels: Tensor,
) -> dict[str, Any]:
    """Whether learned influence was tried, its share in the consensus, and the held-out log loss with and without it.

    ``uniform_shares`` are those of the consensus of candidates with uniform influence.
    """
    is_learned = [result.trial.influence == "learned" for result in trained]
    return {
        "tried": any(is_learned),
        "learned_share": min(1.0, sum((share for number, share in shares.items() if is_learned[number]), 0.0)),
        "log_loss": log_loss(consensus(probabilities, shares), labels),
        "log_loss_uniform": log_loss(consensus(probabilities, uniform_shares), labels),
    }


def uses_edges(method: PropagatedConfGCN) -> bool:
    """Does the prediction of a node depend on its neighbours?"""
    return method.channels != "own" or method.label_channel


def consensus(probabilities: Sequence[Tensor], shares: Mapping[int, float]) -> Tensor:
    """The weighted mean of the probabilities of the candidates with a share, (n, C)."""
    return torch.stack([share * probabilities[number] for number, share in shares.items()]).sum(0)
