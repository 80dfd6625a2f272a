"""All metrics of the probabilities of some nodes in one flat table, over all of them and by group."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from confgcn.evaluation.calibration_error import (
    Binning,
    calibration_interval,
    classwise_calibration_error,
    expected_calibration_error,
    noise_floor,
)
from confgcn.evaluation.groups import node_groups, quartile_means
from confgcn.evaluation.metrics import accuracy, auroc, balanced_accuracy, brier_score, log_loss, roc_auc
from confgcn.evaluation.selective import aurc, excess_aurc
from confgcn.graph import Graph

Scorecard = dict[str, float | None]

METRICS = (
    *("accuracy", "ece", "ece_low", "ece_high", "ece_floor", "ece_mass", "ece_mass_low", "ece_mass_high"),
    *("ece_mass_floor", "ece_class", "nll", "brier", "aurc", "excess_aurc", "auroc_correct"),
)
CLASS_METRICS = ("balanced_accuracy", "roc_auc")  # for problems of two classes or of imbalanced ones


@dataclass(frozen=True)
class ConfidenceGroup:
    """One quartile of the nodes, by confidence: its mean confidence and its share of correct predictions."""

    mean_probability: float
    accuracy: float


@dataclass(frozen=True)
class ConfidenceSummary:
    """``groups`` from least to most confident; AUROC of a correct prediction, None where undefined."""

    groups: list[ConfidenceGroup]
    auroc_probability: float | None
    auroc_precision: float | None


def summarise_confidence(probabilities: Tensor, precision: Tensor | None, labels: Tensor) -> ConfidenceSummary:
    """Evaluate the largest probability, and the precision of the predicted label, against the labels.

    Shapes: ``probabilities`` (M, C), ``precision`` (M, C) or None, ``labels`` (M,).
    """
    confidence, predicted = probabilities.double().max(-1)
    correct = predicted == labels
    means = zip(quartile_means(confidence, confidence), quartile_means(correct, confidence), strict=True)
    of_predicted = None if precision is None else precision.gather(1, predicted[:, None]).squeeze(1)
    return ConfidenceSummary(
        [ConfidenceGroup(mean, accuracy) for mean, accuracy in means],
        auroc(confidence, correct),
        None if of_predicted is None else auroc(of_predicted.double(), correct),
    )


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """Predictions for nodes (M,) whose labels are known: the largest probability is the confidence."""

    nodes: Tensor
    probabilities: Tensor  # (M, C)
    labels: Tensor
    confidence: Tensor
    predicted: Tensor
    correct: Tensor

    @classmethod
    def of(cls, graph: Graph, nodes: Tensor, probabilities: Tensor) -> _Evaluated:
        nodes = _known(graph, nodes)
        rows, labels = probabilities[nodes].double(), graph.labels[nodes]
        confidence, predicted = rows.max(1)
        return cls(nodes, rows, labels, confidence, predicted, predicted == labels)

    def of_predicted(self, values: Tensor) -> Tensor:
        """The entry of ``values`` (N, C) at each node's predicted label, (M,)."""
        return values[self.nodes].double().gather(1, self.predicted[:, None]).squeeze(1)


def score(
    graph: Graph, nodes: Tensor, probabilities: Tensor, *, mu: Tensor | None = None, precision: Tensor | None = None
) -> Scorecard:
    """All of ``METRICS``; with ``precision`` or ``mu``, also the AUROC of their value at the predicted label.

    ``ece`` has bins of equal width and ``ece_mass`` bins of equal count, each with the 95 % interval ``_low`` to
    ``_high`` and the noise floor. ``auroc_correct`` uses the confidence as the score of a correct prediction.
    ``mu_accuracy`` is the accuracy of the largest mu. Nodes of unknown label do not count. None means undefined. The
    result is deterministic.

    Shapes: ``nodes`` (M,), ``probabilities``, ``mu`` and ``precision`` (N, C).
    """
    evaluated = _Evaluated.of(graph, nodes, probabilities)
    card: Scorecard = dict.fromkeys(METRICS)
    if len(evaluated.labels):
        card |= _calibration(evaluated, "ece", "width") | _calibration(evaluated, "ece_mass", "mass")
        card |= _overall(evaluated)
    if precision is not None:
        card["auroc_precision"] = auroc(evaluated.of_predicted(precision), evaluated.correct)
    if mu is not None:
        card["mu_accuracy"] = accuracy(mu[evaluated.nodes], evaluated.labels) if len(evaluated.labels) else None
        card["auroc_mu"] = auroc(evaluated.of_predicted(mu), evaluated.correct)
    return card


def score_classes(probabilities: Tensor, labels: Tensor) -> Scorecard:
    """``CLASS_METRICS`` of probabilities (M, C) and known labels (M,); None where undefined."""
    return {
        "balanced_accuracy": balanced_accuracy(probabilities, labels),
        "roc_auc": roc_auc(probabilities, labels),
    }


def score_groups(graph: Graph, nodes: Tensor, probabilities: Tensor) -> Scorecard:
    """A few metrics in every group of :func:`~confgcn.evaluation.groups.node_groups`: ``degree_q1_accuracy`` etc.

    Each group has count, accuracy, nll, brier, (mean) confidence, ece and ece_floor. Groups are small and their noise
    floors high: compare an ``ece`` with its ``ece_floor``. Shapes and unknown labels as in :func:`score`.
    """
    nodes = _known(graph, nodes)
    groups = {
        name: _Evaluated.of(graph, nodes[mask], probabilities) for name, mask in node_groups(graph, nodes).items()
    }
    return {f"{name}_{key}": value for name, group in groups.items() for key, value in _of_group(group).items()}


def _known(graph: Graph, nodes: Tensor) -> Tensor:
    return nodes[graph.labels[nodes] >= 0]


def _calibration(evaluated: _Evaluated, key: str, binning: Binning) -> Scorecard:
    low, high = calibration_interval(evaluated.confidence, evaluated.correct, binning=binning)
    return {
        key: expected_calibration_error(evaluated.confidence, evaluated.correct, binning=binning),
        f"{key}_low": low,
        f"{key}_high": high,
        f"{key}_floor": noise_floor(evaluated.confidence, binning=binning),
    }


def _overall(evaluated: _Evaluated) -> Scorecard:
    return {
        **_basic(evaluated),
        "ece_class": classwise_calibration_error(evaluated.probabilities, evaluated.labels),
        "aurc": aurc(evaluated.confidence, evaluated.correct),
        "excess_aurc": excess_aurc(evaluated.confidence, evaluated.correct),
        "auroc_correct": auroc(evaluated.confidence, evaluated.correct),
    }


def _of_group(evaluated: _Evaluated) -> Scorecard:
    return {
        "count": len(evaluated.labels),
        **_basic(evaluated),
        "confidence": float(evaluated.confidence.mean()),
        "ece": expected_calibration_error(evaluated.confidence, evaluated.correct),
        "ece_floor": noise_floor(evaluated.confidence),
    }


def _basic(evaluated: _Evaluated) -> Scorecard:
    return {
        "accuracy": float(evaluated.correct.double().mean()),
        "nll": log_loss(evaluated.probabilities, evaluated.labels),
        "brier": brier_score(evaluated.probabilities, evaluated.labels),
    }
