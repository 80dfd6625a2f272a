"""Every number about the probabilities of some nodes, in one flat table: over all of them and part by part."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from confgcn.evaluation.accuracy import accuracy
from confgcn.evaluation.calibration import (
    Binning,
    calibration_interval,
    classwise_calibration_error,
    expected_calibration_error,
    noise_floor,
)
from confgcn.evaluation.confidence import auroc
from confgcn.evaluation.proper_scores import brier_score, log_loss
from confgcn.evaluation.selective import aurc, excess_aurc
from confgcn.evaluation.slices import slices
from confgcn.graph import Graph

Scorecard = dict[str, float | None]

METRICS = (
    *("accuracy", "ece", "ece_low", "ece_high", "ece_floor", "ece_mass", "ece_mass_low", "ece_mass_high"),
    *("ece_mass_floor", "ece_class", "nll", "brier", "aurc", "excess_aurc", "auroc_correct"),
)


@dataclass(frozen=True, eq=False)
class _Judged:
    """Predictions for nodes (M,) whose labels are known: the largest probability is the confidence."""

    nodes: Tensor
    probabilities: Tensor  # (M, C)
    labels: Tensor
    confidence: Tensor
    predicted: Tensor
    correct: Tensor

    @classmethod
    def of(cls, graph: Graph, nodes: Tensor, probabilities: Tensor) -> _Judged:
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
    """All of ``METRICS``, and with ``precision`` or ``mu`` whether those of the predicted label tell right from wrong.

    ``ece`` has bins of equal width and ``ece_mass`` bins of equal count, each with the 95 % interval ``_low`` to
    ``_high`` and the noise floor. ``auroc_correct`` takes the confidence as the score. ``mu_accuracy`` is that of
    the largest mu. A node whose label is not known does not count. None: undefined. The same numbers every time.

    Shapes: ``nodes`` (M,), ``probabilities``, ``mu`` and ``precision`` (N, C).
    """
    judged = _Judged.of(graph, nodes, probabilities)
    card: Scorecard = dict.fromkeys(METRICS)
    if len(judged.labels):
        card |= _calibration(judged, "ece", "width") | _calibration(judged, "ece_mass", "mass") | _overall(judged)
    if precision is not None:
        card["auroc_precision"] = auroc(judged.of_predicted(precision), judged.correct)
    if mu is not None:
        card["mu_accuracy"] = accuracy(mu[judged.nodes], judged.labels) if len(judged.labels) else None
        card["auroc_mu"] = auroc(judged.of_predicted(mu), judged.correct)
    return card


def score_slices(graph: Graph, nodes: Tensor, probabilities: Tensor) -> Scorecard:
    """A few numbers in every part of the nodes that :func:`slices` finds: keys such as ``degree_q1_accuracy``.

    Each part has a count, accuracy, nll, brier, (mean) confidence, ece and ece_floor. Parts are small and their noise
    floors high: an ``ece`` says little without its ``ece_floor``. Shapes and unknown labels as in :func:`score`.
    """
    nodes = _known(graph, nodes)
    parts = {name: _Judged.of(graph, nodes[mask], probabilities) for name, mask in slices(graph, nodes).items()}
    return {f"{name}_{key}": value for name, judged in parts.items() for key, value in _in_short(judged).items()}


def _known(graph: Graph, nodes: Tensor) -> Tensor:
    return nodes[graph.labels[nodes] >= 0]


def _calibration(judged: _Judged, key: str, binning: Binning) -> Scorecard:
    low, high = calibration_interval(judged.confidence, judged.correct, binning=binning)
    return {
        key: expected_calibration_error(judged.confidence, judged.correct, binning=binning),
        f"{key}_low": low,
        f"{key}_high": high,
        f"{key}_floor": noise_floor(judged.confidence, binning=binning),
    }


def _overall(judged: _Judged) -> Scorecard:
    return {
        **_basic(judged),
        "ece_class": classwise_calibration_error(judged.probabilities, judged.labels),
        "aurc": aurc(judged.confidence, judged.correct),
        "excess_aurc": excess_aurc(judged.confidence, judged.correct),
        "auroc_correct": auroc(judged.confidence, judged.correct),
    }


def _in_short(judged: _Judged) -> Scorecard:
    return {
        "count": len(judged.labels),
        **_basic(judged),
        "confidence": float(judged.confidence.mean()),
        "ece": expected_calibration_error(judged.confidence, judged.correct),
        "ece_floor": noise_floor(judged.confidence),
    }


def _basic(judged: _Judged) -> Scorecard:
    return {
        "accuracy": float(judged.correct.double().mean()),
        "nll": log_loss(judged.probabilities, judged.labels),
        "brier": brier_score(judged.probabilities, judged.labels),
    }
