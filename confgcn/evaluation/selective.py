"""Selective prediction: error rate of the most confident predictions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.evaluation.groups import share_ties, sort_by_confidence


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """``coverage`` (M,): share of predictions kept; ``risk`` (M,): error rate among them."""

    coverage: Tensor
    risk: Tensor


def risk_coverage(confidence: Tensor, correct: Tensor) -> RiskCoverage:
    r"""Keep the k most confident, for k = 1, .., M.

    .. math:: \mathrm{coverage}_k = \frac{k}{M}, \qquad
              \mathrm{risk}_k = \frac{1}{k} \sum_{i \le k} (1 - \mathrm{correct}_i)

    Items of equal confidence share their errors, which is the mean over all their orders. Both arguments are (M,).
    """
    confidence, correct = sort_by_confidence(confidence, correct)
    return _keeping(share_ties(confidence, 1 - correct).flip(0))


def aurc(confidence: Tensor, correct: Tensor) -> float:
    r"""Area under the risk-coverage curve as defined by Geifman et al. (2019): the mean risk over every k.

    .. math:: \mathrm{AURC} = \frac{1}{M} \sum_{k=1}^{M} \mathrm{risk}_k

    TorchUncertainty uses the trapezoidal rule from coverage 1/M to 1:
    (M AURC - (risk_1 + risk_M) / 2) / (M - 1).
    """
    return float(risk_coverage(confidence, correct).risk.mean())


def excess_aurc(confidence: Tensor, correct: Tensor) -> float:
    r"""AURC minus the AURC of the best possible ordering of the same predictions.

    .. math:: \mathrm{AURC} - \frac{1}{M} \sum_{k = R + 1}^{M} \frac{k - R}{k}, \qquad R = \sum_i \mathrm{correct}_i

    The second term is the area with all R correct predictions before all wrong ones; it is summed, not approximated.
    """
    best = _keeping(1 - correct.double().sort(descending=True).values)
    return aurc(confidence, correct) - float(best.risk.mean())


def _keeping(errors: Tensor) -> RiskCoverage:
    """The curve for errors (M,) from the most confident prediction on."""
    kept = torch.arange(1, len(errors) + 1, dtype=torch.float64)
    return RiskCoverage(kept / len(errors), errors.cumsum(0) / kept)
