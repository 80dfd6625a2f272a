"""If only the most confident predictions are kept, how many of those are wrong?"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.evaluation.ties import by_confidence, share_ties


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """``coverage`` (M,): the share of predictions that is kept; ``risk`` (M,): the share of those that is wrong."""

    coverage: Tensor
    risk: Tensor


def risk_coverage(confidence: Tensor, correct: Tensor) -> RiskCoverage:
    r"""Keep the k most confident, for k = 1, .., M.

    .. math:: \mathrm{coverage}_k = \frac{k}{M}, \qquad
              \mathrm{risk}_k = \frac{1}{k} \sum_{i \le k} (1 - \mathrm{correct}_i)

    Items of equal confidence share their errors, which is the mean over all their orders. Both arguments are (M,).
    """
    confidence, correct = by_confidence(confidence, correct)
    return _keeping(share_ties(confidence, 1 - correct).flip(0))


def aurc(confidence: Tensor, correct: Tensor) -> float:
    r"""Area under the risk-coverage curve as Geifman et al. (2019) take it: the mean risk over every k.

    .. math:: \mathrm{AURC} = \frac{1}{M} \sum_{k=1}^{M} \mathrm{risk}_k

    TorchUncertainty takes trapezoids from coverage 1/M to 1 over their width, so the first and the last risk count
    half and M - 1 stands for M:  (M AURC - (risk_1 + risk_M) / 2) / (M - 1).
    """
    return float(risk_coverage(confidence, correct).risk.mean())


def excess_aurc(confidence: Tensor, correct: Tensor) -> float:
    r"""The part of the area that a better order of the same predictions would save.

    .. math:: \mathrm{AURC} - \frac{1}{M} \sum_{k = R + 1}^{M} \frac{k - R}{k}, \qquad R = \sum_i \mathrm{correct}_i

    The second term is the area with all R right predictions before all wrong ones; it is summed, not approximated.
    """
    best = _keeping(1 - correct.double().sort(descending=True).values)
    return aurc(confidence, correct) - float(best.risk.mean())


def _keeping(errors: Tensor) -> RiskCoverage:
    """The curve of errors (M,) in the order in which they are kept."""
    kept = torch.arange(1, len(errors) + 1, dtype=torch.float64)
    return RiskCoverage(kept / len(errors), errors.cumsum(0) / kept)
