"""A temperature and an offset per class for the logits of a model, fitted to held-out labels."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

OFFSET_DEVIATION = 1.0  # prior standard deviation of an offset
SCALE_RANGE = 4.0  # of log(1/T) around the spread of the logits
MAX_STEPS, MAX_HALVINGS = 30, 20
TOLERANCE = 1e-6  # of the objective, per label
SMALLEST_CURVATURE = 1e-9  # per label: equal logits have none


class LogitScaling(NamedTuple):
    r"""Log-probabilities from logits: :math:`\log \mathrm{softmax}(z / T + o)`.

    Shapes: ``offsets`` o (C,), in double precision.
    """

    inverse_temperature: float
    offsets: Tensor

    def log_probabilities(self, logits: Tensor) -> Tensor:
        """Of logits (n, C), in double precision."""
        return (self.inverse_temperature * logits.double() + self.offsets).log_softmax(-1)


def fit_logit_scaling(logits: Tensor, labels: Tensor) -> LogitScaling:
    r"""The scaling with the lowest log loss, offsets shrunk to zero.

    .. math:: \min_{T, o} - \sum_i \Big( \log p_{i y_i} + \frac{1}{n C} \sum_c \log p_{ic} \Big)
              + \frac{\| o \|^2}{2 \sigma^2}, \qquad p_i = \mathrm{softmax}(z_i / T + o)

    The offsets adapt a model to the classes as they occur: labels to train on are often drawn class by class. The
    second term counts as one more label that is of any class: without it n labels that are all predicted right would
    make every prediction certain; with it the mean probability of a wrong label stays at about 1/n. The objective is
    convex in 1/T and o; Newton's method with step halving finds its minimum. 1/T stays within a factor of e^4 of one
    over the spread of the logits.

    Shapes: ``logits`` (n, C), ``labels`` (n,).
    """
    values = logits.detach().double()
    values = values - values.mean(1, keepdim=True)
    spread = float(values.std(1, correction=0).mean()) or 1.0
    values = values / spread
    point = torch.zeros(1 + values.shape[1], dtype=torch.double, device=values.device)
    point[0] = 1.0
    loss = _objective(point, values, labels)
    for _ in range(MAX_STEPS):
        following, reached = _newton_step(point, loss, values, labels)
        is_done = loss - reached < TOLERANCE * len(labels)
        point, loss = following, reached
        if is_done:
            break
    return LogitScaling(float(point[0]) / spread, point[1:])


def scaled_log_loss(logits: Tensor, labels: Tensor) -> float:
    """The mean log loss at the fitted scaling."""
    scaled = fit_logit_scaling(logits, labels).log_probabilities(logits)
    return float(functional.nll_loss(scaled, labels))


def _objective(point: Tensor, values: Tensor, labels: Tensor) -> float:
    scaled = (point[0] * values + point[1:]).log_softmax(1)
    penalty = point[1:].square().sum() / (2.0 * OFFSET_DEVIATION**2)
    return float(functional.nll_loss(scaled, labels, reduction="sum") - scaled.mean() + penalty)


def _newton_step(point: Tensor, loss: float, values: Tensor, labels: Tensor) -> tuple[Tensor, float]:
    """The next point and its objective, which is not above that of this point."""
    gradient, hessian = _derivatives(point, values, labels)
    low, high = math.exp(-SCALE_RANGE), math.exp(SCALE_RANGE)
    if (gradient[0] > 0 and point[0] <= low) or (gradient[0] < 0 and point[0] >= high):
        hessian[0, 1:] = hessian[1:, 0] = gradient[0] = 0.0  # 1/T stays at its bound
    step = torch.linalg.solve(hessian, gradient)
    for halvings in range(MAX_HALVINGS):
        following = point - step / 2.0**halvings
        following[0].clamp_(low, high)
        reached = _objective(following, values, labels)
        if reached <= loss:
            return following, reached
    return point, loss


def _derivatives(point: Tensor, values: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient (1 + C,) and Hessian (1 + C, 1 + C) of the objective."""
    p = (point[0] * values + point[1:]).softmax(1)
    (count, num_classes), precision = p.shape, 1.0 / OFFSET_DEVIATION**2
    weight = 1.0 + 1.0 / count  # of a row: its label, and its part of the label of any class
    mean = (p * values).sum(1, keepdim=True)
    by_scale = weight * mean.sum() - values.gather(1, labels[:, None]).sum()  # values are centred
    by_offsets = weight * p.sum(0) - labels.bincount(minlength=num_classes) - 1.0 / num_classes
    hessian = torch.empty(len(point), len(point), dtype=torch.double, device=p.device)
    hessian[0, 0] = (p * (values - mean).square()).sum() + SMALLEST_CURVATURE * count
    hessian[0, 1:] = hessian[1:, 0] = (p * (values - mean)).sum(0)
    hessian[1:, 1:] = p.sum(0).diag() - p.T @ p
    hessian *= weight
    hessian.diagonal()[1:] += precision
    return torch.cat([by_scale[None], by_offsets + precision * point[1:]]), hessian
