"""Nodes that no label speaks for: how sure a prediction may be of them."""

from __future__ import annotations

import math

import torch
from scipy.stats import beta
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.prior import reached_by_labels

RISK = 0.25  # that they are right less often than is claimed
LARGEST = 8.0  # of the logarithm of a temperature: flat, to any eye
HALVINGS = 60


def silent_nodes(graph: Graph) -> Tensor:
    """The nodes in whose component there is no training label, isolated ones among them, (N,)."""
    return ~reached_by_labels(graph)


def fit_caution(log_probabilities: Tensor, labels: Tensor, silent: Tensor, nodes: Tensor) -> float:
    r"""By what log-temperature to flatten the probabilities of silent nodes, at least zero.

    .. math:: \frac{1}{|S|} \sum_{v \in S} \max_c \mathrm{softmax}(\log \hat{p}_v / T)_c
              \le \max(\tfrac{1}{C}, \; \mathrm{Beta}^{-1}_{1/4}(k, n - k + 1))

    for k right ones among the n held-out ``nodes`` in S: the mean confidence is no higher than the accuracy that they
    vouch for (the lower bound of Clopper and Pearson, Biometrika 1934). The calibration of the others says little
    about S, and where nothing is held out of S, nothing is claimed.

    Shapes: ``log_probabilities`` (N, C), ``labels`` and ``silent`` (N,), ``nodes`` (n,).
    """
    if not silent.any():
        return 0.0
    held_out = nodes[silent[nodes]]
    right = int((log_probabilities[held_out].argmax(1) == labels[held_out]).sum())
    vouched = float(beta.ppf(RISK, right, len(held_out) - right + 1)) if right else 0.0
    claim = max(vouched, 1.0 / log_probabilities.shape[1])
    low, high = 0.0, LARGEST
    if _mean_confidence(log_probabilities[silent], low) <= claim:
        return low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _mean_confidence(log_probabilities[silent], middle) <= claim else (middle, high)
    return high


def be_cautious(log_probabilities: Tensor, silent: Tensor, caution: float) -> Tensor:
    """The log-probabilities (N, C), those of silent nodes flattened."""
    flat = (log_probabilities * math.exp(-caution)).log_softmax(-1)
    return torch.where(silent[:, None], flat, log_probabilities) if caution else log_probabilities


def _mean_confidence(log_probabilities: Tensor, log_temperature: float) -> float:
    return float((log_probabilities * math.exp(-log_temperature)).softmax(-1).max(-1).values.mean())
