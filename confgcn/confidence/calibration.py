"""Calibrated probabilities: choose a calibrator on held-out labels, and flatten unlabelled components."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from scipy.stats import beta
from torch import Tensor

from confgcn.confidence.calibrators import CANDIDATES, UNCALIBRATED, CalibrationInputs, Calibrator, calibrator_named
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.models.prior import reached_by_labels

MIN_LABELS = 10  # with fewer, a fitted temperature would be noise
BLOCK_ROWS = 10_000  # of intermediate tables in double precision
RISK = 0.25  # that the accuracy of unlabelled components is below the bound
MAX_FLATTENING = 8.0  # of the logarithm of the temperature: practically uniform
HALVINGS = 60


@dataclass(frozen=True)
class Calibration:
    """A fitted calibrator and how it was chosen.

    Attributes:
        calibrator: fitted to all held-out labels; it calibrates every node.
        flattening: logarithm of a further temperature of the nodes in components without a training label.
        log_losses: mean cross-validated log loss of every candidate by name; empty with too few labels.
        num_labels: number of held-out labels.
    """

    calibrator: Calibrator = UNCALIBRATED
    flattening: float = 0.0
    log_losses: dict[str, float] = field(default_factory=dict)
    num_labels: int = 0

    @property
    def name(self) -> str:
        """The name of the calibrator; "none" with too few labels."""
        return self.calibrator.name

    def probabilities(self, graph: Graph, prediction: Prediction) -> Tensor:
        """Calibrated probabilities of every node, (N, C), in double precision."""
        inputs, unlabelled = CalibrationInputs.of(graph, prediction), ~reached_by_labels(graph)
        probabilities = torch.empty(prediction.logits.shape, dtype=torch.float64)
        for start in range(0, len(probabilities), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            log_probabilities = self.calibrator.log_probabilities(inputs.at(rows))
            probabilities[rows] = flattened(log_probabilities, unlabelled[rows], self.flattening).exp()
        return probabilities

    def to_json(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        return {
            "calibrator": self.calibrator.name,
            "parameters": self.calibrator.to_json(),
            "flattening": self.flattening,
            "log_losses": self.log_losses,
            "num_labels": self.num_labels,
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Calibration:
        """From the values of :meth:`to_json`."""
        expected = {"calibrator": str, "parameters": dict, "flattening": float, "log_losses": dict, "num_labels": int}
        wrong = [name for name, kind in expected.items() if not isinstance(record.get(name), kind)]
        if wrong or record.keys() != expected.keys():
            raise CorruptFileError(f"calibration: expected the values {', '.join(expected)}, got {list(record)}")
        if not 0.0 <= record["flattening"] <= MAX_FLATTENING:
            raise CorruptFileError(
                f"calibration: expected flattening from 0 to {MAX_FLATTENING:g}, got {record['flattening']}"
            )
        if not all(isinstance(loss, float) and math.isfinite(loss) for loss in record["log_losses"].values()):
            raise CorruptFileError(f"calibration: expected finite log_losses, got {record['log_losses']}")
        calibrator = calibrator_named(record["calibrator"]).from_json(record["parameters"])
        return cls(calibrator, record["flattening"], record["log_losses"], record["num_labels"])


def fit_calibration(
    graph: Graph, prediction: Prediction, nodes: Tensor, *, held_out: Prediction | None = None
) -> Calibration:
    """Calibrate a prediction with the labels of ``nodes`` (n,), which training did not use.

    Where training did use them, ``held_out`` is a prediction of each of these nodes without its label.
    """
    if (graph.labels[nodes] < 0).any():
        raise DataError(f"calibration: expected a label for each of its {len(nodes)} nodes, some have none")
    inputs = CalibrationInputs.of(graph, held_out or prediction).at(nodes)
    calibrator, losses = choose_calibrator(inputs, graph.labels[nodes])
    unlabelled = (~reached_by_labels(graph)).nonzero().squeeze(1)
    log_probabilities = calibrator.log_probabilities(CalibrationInputs.of(graph, prediction).at(unlabelled))
    known = torch.isin(unlabelled, nodes).nonzero().squeeze(1)
    flattening = fit_flattening(log_probabilities, graph.labels[unlabelled], known)
    return Calibration(calibrator, flattening, losses, len(nodes))


def choose_calibrator(
    inputs: CalibrationInputs,
    labels: Tensor,
    *,
    candidates: Sequence[Calibrator] = CANDIDATES,
    folds: int = 5,
    seed: int = 0,
) -> tuple[Calibrator, dict[str, float]]:
    """Choose among the candidates by cross-validated log loss and fit the chosen one to all labels (n,).

    A candidate replaces the first one only where the log loss per node falls by more than one standard error of the
    mean difference; of several, the one of the lowest loss is chosen. Returns the mean losses by name too.
    """
    if len(labels) < MIN_LABELS:
        return UNCALIBRATED, {}
    default, *others = (c for c in candidates if set(c.needs) <= inputs.covariates.keys())
    fold = stratified_folds(labels, folds, seed=seed)
    losses = {c.name: cross_validated_losses(c, inputs, labels, fold) for c in (UNCALIBRATED, default, *others)}
    better = [c for c in others if _is_clearly_less(losses[c.name], losses[default.name])]
    chosen = min(better, key=lambda c: float(losses[c.name].mean()), default=default)
    return chosen.fit(inputs, labels), {name: float(loss.mean()) for name, loss in losses.items()}


def cross_validated_losses(calibrator: Calibrator, inputs: CalibrationInputs, labels: Tensor, fold: Tensor) -> Tensor:
    """The log loss of every node under the calibrator fitted to the other folds, (n,)."""
    losses = torch.empty(len(labels), dtype=torch.float64)
    for held_out in (fold == number for number in fold.unique()):
        fitted = calibrator.fit(inputs.at(~held_out), labels[~held_out])
        log_probabilities = fitted.log_probabilities(inputs.at(held_out))
        losses[held_out] = -log_probabilities.gather(1, labels[held_out, None]).squeeze(1)
    return losses


def stratified_folds(labels: Tensor, folds: int, *, seed: int) -> Tensor:
    """A fold for each label, (n,), such that each class is spread evenly over the folds."""
    shuffled = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    by_class = shuffled[torch.argsort(labels[shuffled], stable=True)]
    fold = torch.empty_like(labels)
    fold[by_class] = torch.arange(len(labels)) % folds
    return fold


def fit_flattening(log_probabilities: Tensor, labels: Tensor, held_out: Tensor) -> float:
    r"""The logarithm of the temperature, at least zero, that flattens the nodes S of unlabelled components.

    .. math:: \frac{1}{|S|} \sum_{v \in S} \max_c \mathrm{softmax}(\log \hat{p}_v / T)_c
              \le \max(\tfrac{1}{C}, \; \mathrm{Beta}^{-1}_{1/4}(k, n - k + 1))

    for k correct predictions among the n held-out nodes in S: the mean confidence is at most a lower bound of the
    accuracy (Clopper and Pearson, Biometrika 1934). Calibration on other components tells little about S. Without
    held-out nodes in S the probabilities become uniform.

    Shapes: ``log_probabilities`` (S, C), ``labels`` (S,), ``held_out`` (n,) positions in S.
    """
    if not len(log_probabilities):
        return 0.0
    correct = int((log_probabilities[held_out].argmax(1) == labels[held_out]).sum())
    lower_bound = float(beta.ppf(RISK, correct, len(held_out) - correct + 1)) if correct else 0.0
    target = max(lower_bound, 1.0 / log_probabilities.shape[1])
    low, high = 0.0, MAX_FLATTENING
    if _mean_confidence(log_probabilities, low) <= target:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _mean_confidence(log_probabilities, middle) <= target else (middle, high)
    return high


def flattened(log_probabilities: Tensor, unlabelled: Tensor, flattening: float) -> Tensor:
    """The log-probabilities (n, C), with the rows of the ``unlabelled`` mask (n,) flattened."""
    flat = (log_probabilities * math.exp(-flattening)).log_softmax(-1)
    return torch.where(unlabelled[:, None], flat, log_probabilities) if flattening else log_probabilities


def _mean_confidence(log_probabilities: Tensor, log_temperature: float) -> float:
    return float((log_probabilities * math.exp(-log_temperature)).softmax(-1).max(-1).values.mean())


def _is_clearly_less(losses: Tensor, than: Tensor) -> bool:
    """Is the mean difference of the pairs larger than its standard error?"""
    gain = than - losses
    return float(gain.mean()) > float(gain.std()) / math.sqrt(len(gain))
