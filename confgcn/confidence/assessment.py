"""All that can be said of one prediction, from one look at the held-out labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confgcn.confidence.calibration import Calibration, covariates_of, fit_calibration
from confgcn.confidence.caution import be_cautious, fit_caution, silent_nodes
from confgcn.confidence.decisions import Decision, decide
from confgcn.confidence.novelty import novelty
from confgcn.confidence.prediction_sets import PredictionSets, degree_groups
from confgcn.confidence.suspicion import SuspiciousEdges, SuspiciousLabels, suspicious_edges, suspicious_labels
from confgcn.graph import Graph
from confgcn.models.base import Prediction

COVERAGE = 0.9
ROWS_AT_ONCE = 10_000  # of tables in double precision that nobody keeps
MAX_ERROR, DELTA = 0.05, 0.1


@dataclass(frozen=True, eq=False)
class Assessment:
    """What a user may act on.

    Attributes:
        calibration, caution: how logits became probabilities, and by how much those of nodes that no label speaks
            for were flattened besides.
        probabilities: calibrated, (N, C).
        sets: (N, C), the labels of each node's prediction set; None where there were no held-out labels.
        decision: which predictions of nodes that were not trained on may be accepted; None likewise, or without such.
        novelty: (N,), from 0 to 1.
        labels, edges: doubtful ones, most doubtful first.
        others: the nodes that were not trained on.
    """

    calibration: Calibration
    caution: float
    probabilities: Tensor
    sets: Tensor | None
    decision: Decision | None
    novelty: Tensor
    labels: SuspiciousLabels
    edges: SuspiciousEdges
    others: Tensor

    @property
    def accepted(self) -> Tensor:
        """May the label of each node be accepted, (N,)? Not asked of training nodes."""
        mask = torch.zeros(len(self.probabilities), dtype=torch.bool)
        if self.decision is not None:
            mask[self.others] = self.decision.accepted
        return mask


@dataclass(frozen=True, eq=False)
class Scaling:
    """How logits become probabilities; see :func:`scaling`."""

    calibration: Calibration
    caution: float
    covariates: Mapping[str, Tensor]
    silent: Tensor

    def probabilities(self, logits: Tensor) -> Tensor:
        """Of every node, (N, C)."""
        found = torch.empty(logits.shape, dtype=torch.float64)
        for start in range(0, len(logits), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            scaled = self.calibration.apply(logits[rows], _at_rows(self.covariates, rows))
            found[rows] = be_cautious(scaled, self.silent[rows], self.caution).exp()
        return found


def scaling(graph: Graph, prediction: Prediction, nodes: Tensor, *, held_out: Prediction | None = None) -> Scaling:
    """How to scale the logits, by the labels of these held-out nodes, or by what ``held_out`` says of them.

    Components without a training label are a world of their own: there, caution is added.
    """
    judged, silent = held_out or prediction, silent_nodes(graph)
    calibration = fit_calibration(judged.logits, graph.labels, nodes, covariates_of(graph, judged))
    covariates = covariates_of(graph, prediction)
    quiet = silent.nonzero().squeeze(1)
    log_probabilities = calibration.apply(prediction.logits[quiet], _at_rows(covariates, quiet))
    looked_at = torch.isin(quiet, nodes).nonzero().squeeze(1)
    caution = fit_caution(log_probabilities, graph.labels[quiet], torch.ones_like(quiet, dtype=torch.bool), looked_at)
    return Scaling(calibration, caution, covariates, silent)


def assess(
    graph: Graph,
    prediction: Prediction,
    nodes: Tensor,
    *,
    held_out: Prediction | None = None,
    features_say: Tensor | None = None,
    coverage: float = COVERAGE,
    max_error: float = MAX_ERROR,
    delta: float = DELTA,
) -> Assessment:
    """Look at the labels of ``nodes`` and say how far to trust what of all nodes.

    Training did not see these labels; or, where it did, ``held_out`` is what was predicted of each of the nodes by a
    training that did not. The same labels scale the probabilities, size the sets and certify the decision, and have in
    most runs selected the weights: guarantees are then approximate. Where they must be exact, hold labels back and use
    the parts by hand. With ``features_say`` (see :func:`suspicious_labels`) nobody looks at the graph's features.
    """
    scale = scaling(graph, prediction, nodes, held_out=held_out)
    probabilities = scale.probabilities(prediction.logits)
    others = torch.ones(graph.num_nodes, dtype=torch.bool).index_fill_(0, graph.train, False).nonzero().squeeze(1)
    seen = probabilities if held_out is None else _seen(graph, scale, held_out)
    sets = decision = None
    if len(nodes):
        fitted = PredictionSets.fit(graph, seen, nodes, coverage=coverage, groups=degree_groups(graph, nodes))
        sets = fitted.sets(graph, probabilities)
    if len(nodes) and len(others):
        confidence, predicted = seen[nodes].max(-1)
        correct = predicted == graph.labels[nodes]
        decision = decide(confidence, correct, probabilities.max(-1).values[others], max_error=max_error, delta=delta)
    del seen  # what follows needs the memory
    return Assessment(
        scale.calibration,
        scale.caution,
        probabilities,
        sets,
        decision,
        novelty(graph, probabilities),
        suspicious_labels(graph, probabilities, features_say),
        suspicious_edges(graph, probabilities, prediction.influence),
        others,
    )


def _seen(graph: Graph, scale: Scaling, held_out: Prediction) -> Tensor:
    """The probabilities by a training that had not seen the label, (N, C)."""
    return replace(scale, covariates=covariates_of(graph, held_out)).probabilities(held_out.logits)


def _at_rows(covariates: Mapping[str, Tensor], rows: Tensor | slice) -> dict[str, Tensor]:
    """The covariates of these nodes alone."""
    return {name: values[rows] for name, values in covariates.items()}
