"""Everything a user can act on for one prediction, derived from the held-out labels in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from confgcn.confidence.calibration import Calibration, fit_calibration
from confgcn.confidence.decisions import DELTA, MAX_ERROR, Decision, decide
from confgcn.confidence.label_errors import DisagreeingEdges, LabelErrors, find_disagreeing_edges, find_label_errors
from confgcn.confidence.novelty import novelty
from confgcn.confidence.prediction_sets import COVERAGE, PredictionSets, degree_groups
from confgcn.graph import Graph
from confgcn.models.base import Prediction


@dataclass(frozen=True, eq=False)
class Assessment:
    """What a user can act on.

    Attributes:
        calibration: how logits become probabilities.
        probabilities: calibrated, (N, C).
        sets: (N, C), the labels in each node's prediction set; None without held-out labels.
        decision: which predictions of ``candidates`` can be accepted; None without held-out labels or candidates.
        novelty: (N,), from 0 to 1.
        label_errors: training labels, most probable error first.
        disagreeing_edges: edges, most probable disagreement first.
        candidates: the nodes that were not trained on.
        held_out: the held-out labels that sets and decisions are fitted to: those that certify, where there are any.
    """

    calibration: Calibration
    probabilities: Tensor
    sets: Tensor | None
    decision: Decision | None
    novelty: Tensor
    label_errors: LabelErrors
    disagreeing_edges: DisagreeingEdges
    candidates: Tensor
    held_out: HeldOutLabels

    @property
    def accepted(self) -> Tensor:
        """The nodes whose predicted label is accepted, (N,); never a training node."""
        mask = torch.zeros(len(self.probabilities), dtype=torch.bool)
        if self.decision is not None:
            mask[self.candidates] = self.decision.accepted
        return mask

    def with_coverage(self, graph: Graph, coverage: float) -> Assessment:
        """The same with prediction sets of another coverage."""
        return replace(self, sets=fitted_sets(graph, self.probabilities, self.held_out, coverage))

    def with_max_error(self, max_error: float, delta: float) -> Assessment:
        """The same with the decision for another error rate."""
        decision = fitted_decision(self.probabilities, self.candidates, self.held_out, max_error=max_error, delta=delta)
        return replace(self, decision=decision)


@dataclass(frozen=True, eq=False)
class HeldOutLabels:
    """Nodes whose labels the training did not use.

    ``is_certifying``: whether these labels neither chose nor calibrated. Else sets and decisions are approximate.

    Shapes: ``nodes`` (n,), ``labels`` (n,), ``probabilities`` (n, C): calibrated, predicted without these labels.
    """

    nodes: Tensor
    labels: Tensor
    probabilities: Tensor
    is_certifying: bool


def fitted_sets(graph: Graph, probabilities: Tensor, held_out: HeldOutLabels, coverage: float) -> Tensor | None:
    """The prediction sets of all nodes, (N, C), with a quantile per degree group; None without held-out labels."""
    nodes = held_out.nodes
    if not len(nodes):
        return None
    unseen = probabilities.index_copy(0, nodes, held_out.probabilities)
    fitted = PredictionSets.fit(graph, unseen, nodes, coverage=coverage, groups=degree_groups(graph, nodes))
    del unseen  # frees memory for the sets
    return fitted.sets(graph, probabilities)


def fitted_decision(
    probabilities: Tensor, candidates: Tensor, held_out: HeldOutLabels, *, max_error: float, delta: float
) -> Decision | None:
    """Which candidates to accept; None without candidates or held-out labels."""
    if not len(held_out.nodes) or not len(candidates):
        return None
    confidence, predicted = held_out.probabilities.max(-1)
    correct = predicted == held_out.labels
    found = decide(confidence, correct, probabilities.max(-1).values[candidates], max_error=max_error, delta=delta)
    return replace(found, is_approximate=not held_out.is_certifying)


def assess(
    graph: Graph,
    prediction: Prediction,
    nodes: Tensor,
    *,
    certifying: Tensor | None = None,
    held_out: Prediction | None = None,
    feature_probabilities: Tensor | None = None,
    coverage: float = COVERAGE,
    max_error: float = MAX_ERROR,
    delta: float = DELTA,
) -> Assessment:
    """Calibrate a prediction of all nodes with the labels of ``nodes``, and assess it.

    Training did not use these labels; where it did, ``held_out`` is a prediction of each of the nodes by a training
    without its label. The labels of ``certifying``, which chose and calibrated nothing, size the sets and certify the
    decision. Without them the labels of ``nodes`` do, which in most runs have selected the weights: sets and decision
    are then approximate. With ``feature_probabilities`` (see :func:`find_label_errors`) the graph needs no features.
    """
    calibration = fit_calibration(graph, prediction, nodes, held_out=held_out)
    probabilities = calibration.probabilities(graph, prediction)
    is_certifying = certifying is not None and len(certifying) > 0
    fitted_to = certifying if certifying is not None and is_certifying else nodes
    unseen = probabilities if held_out is None else calibration.probabilities(graph, held_out)
    known = HeldOutLabels(fitted_to, graph.labels[fitted_to], unseen[fitted_to], is_certifying)
    del unseen  # frees memory for the sets
    candidates = torch.ones(graph.num_nodes, dtype=torch.bool).index_fill_(0, graph.train, False).nonzero().squeeze(1)
    return Assessment(
        calibration,
        probabilities,
        fitted_sets(graph, probabilities, known, coverage),
        fitted_decision(probabilities, candidates, known, max_error=max_error, delta=delta),
        novelty(graph, probabilities),
        find_label_errors(graph, probabilities, feature_probabilities),
        find_disagreeing_edges(graph, probabilities, prediction.influence),
        candidates,
        known,
    )
