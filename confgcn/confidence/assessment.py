"""All that can be said of one prediction, from one look at the held-out labels."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from confgcn.confidence.calibration import Calibration, covariates_of, fit_calibration
from confgcn.confidence.caution import be_cautious, fit_caution, silent_nodes
from confgcn.confidence.decisions import Decision, decide
from confgcn.confidence.novelty import novelty
from confgcn.confidence.prediction_sets import PredictionSets, degree_groups
from confgcn.confidence.suspicion import SuspiciousEdges, SuspiciousLabels, suspicious_edges, suspicious_labels
from confgcn.graph import Graph
from confgcn.method import Prediction

COVERAGE = 0.9
MAX_ERROR, DELTA = 0.05, 0.1


@dataclass(frozen=True, eq=False)
class Assessment:
    """What a user may act on.

    Attributes:
        calibration: how logits became probabilities.
        probabilities: calibrated, (N, C).
        sets: (N, C), the labels of each node's prediction set; None where there were no held-out labels.
        decision: which predictions may be accepted; None likewise.
        novelty: (N,), from 0 to 1.
        labels, edges: doubtful ones, most doubtful first.
    """

    calibration: Calibration
    probabilities: Tensor
    sets: Tensor | None
    decision: Decision | None
    novelty: Tensor
    labels: SuspiciousLabels
    edges: SuspiciousEdges

    @property
    def confidence(self) -> Tensor:
        """The probability of the predicted label, (N,)."""
        return self.probabilities.max(-1).values


def calibrated(graph: Graph, prediction: Prediction, nodes: Tensor) -> tuple[Calibration, Tensor]:
    """How to scale the logits, by the labels of these held-out nodes, and the probabilities that follow, (N, C).

    Components without a training label are a world of their own: there, caution is added.
    """
    covariates, silent = covariates_of(graph, prediction), silent_nodes(graph)
    calibration = fit_calibration(prediction.logits, graph.labels, nodes, covariates)
    log_probabilities = calibration.apply(prediction.logits, covariates)
    caution = fit_caution(log_probabilities, graph.labels, silent, nodes)
    return calibration, be_cautious(log_probabilities, silent, caution).exp()


def assess(graph: Graph, prediction: Prediction, nodes: Tensor) -> Assessment:
    """Look at the labels of ``nodes``, which training did not see, and say how far to trust what of all nodes.

    The same nodes scale the probabilities, size the sets and certify the decision, and have in most runs selected the
    weights: guarantees are then approximate. Where they must be exact, hold labels back and use the parts by hand.
    """
    calibration, probabilities = calibrated(graph, prediction, nodes)
    confidence, predicted = probabilities.max(-1)
    sets = decision = None
    if len(nodes):
        groups = degree_groups(graph, nodes)
        fitted = PredictionSets.fit(graph, probabilities, nodes, coverage=COVERAGE, groups=groups)
        sets = fitted.sets(graph, probabilities)
        correct = predicted[nodes] == graph.labels[nodes]
        decision = decide(confidence[nodes], correct, confidence, max_error=MAX_ERROR, delta=DELTA)
    return Assessment(
        calibration,
        probabilities,
        sets,
        decision,
        novelty(graph, probabilities),
        suspicious_labels(graph, probabilities),
        suspicious_edges(graph, probabilities, prediction.influence),
    )
