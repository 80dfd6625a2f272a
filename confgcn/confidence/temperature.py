"""One scaling of logits by a temperature, the same for every node or by a covariate of the node, and its fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize
from torch import Tensor

from confgcn.exceptions import DataError, unknown_name

FloatArray = npt.NDArray[np.float64]

# How far log T may be from the logarithm of the logits' own spread, which differs between methods by orders of
# magnitude: labels that are told apart without a mistake would have T go to zero, useless logits to infinity.
LARGEST_STEP = 4.0
LARGEST_SLOPE = 1.0
PRECISELY = {"ftol": 1e-14, "gtol": 1e-9}
LARGEST_SCORE = 3.0  # standard deviations; a hub's degree lies far beyond, where the slope was never fitted


@dataclass(frozen=True)
class Temperature:
    r"""Softmax of logits over a temperature.

    .. math:: \log \hat{p}_v = \log \mathrm{softmax}(\text{logits}_v / T_v), \qquad \log T_v = a + b z_v

    Guo, Pleiss, Sun, Weinberger: On calibration of modern neural networks, ICML 2017, with b = 0. With a ``covariate``
    z is its value, less ``centre``, over ``spread``, cut off at three: the node-wise temperature of Hsu and others
    (What makes graph neural networks miscalibrated?, NeurIPS 2022) with one property of the node in the place of their
    attention. No order of labels changes.
    """

    intercept: float = 0.0  # a
    slope: float = 0.0  # b
    covariate: str | None = None
    centre: float = 0.0
    spread: float = 1.0

    def apply(self, logits: Tensor, covariates: Mapping[str, Tensor]) -> Tensor:
        """Log-probabilities (N, C), for the covariates (N,) by name."""
        log_temperature = self.intercept + self.slope * self.standardised(logits, covariates)
        return (logits.double() / log_temperature.exp()[:, None]).log_softmax(-1)

    def standardised(self, logits: Tensor, covariates: Mapping[str, Tensor]) -> Tensor:
        """z, (N,); zero without a covariate."""
        if self.covariate is None:
            return torch.zeros(len(logits), dtype=torch.float64)
        if self.covariate not in covariates:
            raise unknown_name("covariate", self.covariate, covariates)
        values = covariates[self.covariate].double()
        if values.shape != (len(logits),):
            came = tuple(values.shape)
            raise DataError(f"covariate {self.covariate!r}: expected one number per node, {len(logits)}, got {came}")
        return ((values - self.centre) / self.spread).clamp(-LARGEST_SCORE, LARGEST_SCORE)


def fit_temperature(
    logits: Tensor, labels: Tensor, covariates: Mapping[str, Tensor], *, covariate: str | None = None
) -> Temperature:
    r"""The temperature with the least log loss on these nodes.

    .. math:: \min_{a, b} \; - \sum_v \log \hat{p}_v(y_v) + b^2 / 2

    The penalty is a normal prior of unit width on b: few nodes leave it near zero. Without a covariate the loss has a
    single minimum, for it is convex in 1/T.

    Shapes: ``logits`` (n, C), ``labels`` (n,), ``covariates`` (n,) each.
    """
    scale = Temperature() if covariate is None else _standardisation(covariate, covariates)
    z = scale.standardised(logits, covariates).numpy()
    spread = float(logits.double().std(1, correction=0).mean()) or 1.0
    given = logits.double().numpy() / spread, labels.numpy(), z
    steepest = 0.0 if covariate is None else LARGEST_SLOPE
    bounds = [(-LARGEST_STEP, LARGEST_STEP), (-steepest, steepest)]
    found = minimize(_objective, np.zeros(2), given, "L-BFGS-B", jac=True, bounds=bounds, options=PRECISELY)
    step, slope = found.x.tolist()
    return Temperature(step + math.log(spread), slope, covariate, scale.centre, scale.spread)


def _standardisation(covariate: str, covariates: Mapping[str, Tensor]) -> Temperature:
    values = covariates[covariate].double()
    spread = float(values.std(correction=0))
    return Temperature(covariate=covariate, centre=float(values.mean()), spread=spread or 1.0)


def _objective(
    parameters: FloatArray, logits: FloatArray, labels: npt.NDArray[np.int64], z: FloatArray
) -> tuple[float, FloatArray]:
    """The penalised loss per node and its gradient."""
    intercept, slope = parameters
    scaled = logits * np.exp(-(intercept + slope * z))[:, None]
    shifted = scaled - scaled.max(1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(1))
    rows = np.arange(len(labels))
    loss = log_total - shifted[rows, labels]
    probabilities = np.exp(shifted - log_total[:, None])
    by_log_temperature = shifted[rows, labels] - (probabilities * shifted).sum(1)
    gradient = np.array([by_log_temperature.sum(), by_log_temperature @ z + slope])
    return float(loss.sum() + slope**2 / 2) / len(labels), gradient / len(labels)
