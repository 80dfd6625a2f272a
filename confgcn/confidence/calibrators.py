"""Calibrators: each turns logits into probabilities, with parameters fitted to held-out labels.

To add one, write a class that follows :class:`Calibrator`, add an instance to ``CANDIDATES`` and test it; the tests of
the interface run over the whole list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize
from torch import Tensor

from confgcn.exceptions import CorruptFileError, DataError, unknown_name
from confgcn.graph import Graph
from confgcn.models.base import Prediction

FloatArray = npt.NDArray[np.float64]

# Bounds of log T relative to the logarithm of the logits' spread, which differs between methods by orders of
# magnitude: without errors among the labels T would go to zero, with useless logits to infinity.
MAX_STEP = 4.0
MAX_SLOPE = 1.0
TOLERANCES = {"ftol": 1e-14, "gtol": 1e-9}
MAX_SCORE = 3.0  # standard deviations; the slope is not extrapolated to the degree of a hub
# Recorded parameters outside of these would overflow or divide by zero.
LIMITS = {
    "intercept": (-300.0, 300.0),
    "slope": (-10.0, 10.0),
    "centre": (-math.inf, math.inf),
    "spread": (1e-300, math.inf),
}


@dataclass(frozen=True, eq=False)
class CalibrationInputs:
    """What a calibrator may use: ``logits`` (n, C) and ``covariates`` of the nodes, (n,) each, by name."""

    logits: Tensor
    covariates: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph, prediction: Prediction) -> CalibrationInputs:
        """Of every node: its "degree" as log(1 + degree) and, where the method has one, its "precision".

        The latter is asinh of the precision of the predicted label: it grows like the logarithm and is defined for the
        small and negative values that training can produce.
        """
        covariates = {"degree": graph.degrees.double().log1p()}
        if prediction.precision is not None:
            predicted = prediction.logits.argmax(-1, keepdim=True)
            covariates["precision"] = prediction.precision.gather(1, predicted).squeeze(1).double().asinh()
        return cls(prediction.logits, covariates)

    def at(self, rows: Tensor | slice) -> CalibrationInputs:
        """Those of some nodes, given by their positions or a mask."""
        return CalibrationInputs(self.logits[rows], {name: values[rows] for name, values in self.covariates.items()})


class Calibrator(Protocol):
    """A map from logits to log-probabilities; an instance without parameters is a candidate to fit.

    The most probable label of a node must stay that of its logits: predicted labels are read from the logits, and
    confidences from the calibrated probabilities.
    """

    @property
    def name(self) -> str:
        """The key under which it is listed and recorded."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The covariates it uses; it is no candidate for a method that lacks one."""

    def fit(self, inputs: CalibrationInputs, labels: Tensor) -> Calibrator:
        """The same calibrator fitted to held-out labels (n,)."""

    def log_probabilities(self, inputs: CalibrationInputs) -> Tensor:
        """Calibrated log-probabilities, (n, C), in double precision."""

    def to_json(self) -> dict[str, Any]:
        """The fitted parameters as values that JSON can hold."""

    def from_json(self, parameters: Mapping[str, Any]) -> Calibrator:
        """The same calibrator with the parameters of :meth:`to_json`; CorruptFileError if they are not valid."""


@dataclass(frozen=True)
class Uncalibrated:
    """The softmax of the logits as they are."""

    name: str = "none"
    needs: tuple[str, ...] = ()

    def fit(self, inputs: CalibrationInputs, labels: Tensor) -> Uncalibrated:
        """Nothing to fit."""
        return self

    def log_probabilities(self, inputs: CalibrationInputs) -> Tensor:
        """Log-softmax of the logits, (n, C)."""
        return inputs.logits.double().log_softmax(-1)

    def to_json(self) -> dict[str, Any]:
        """No parameters."""
        return {}

    def from_json(self, parameters: Mapping[str, Any]) -> Uncalibrated:
        """No parameters."""
        checked_numbers(parameters, {})
        return self


@dataclass(frozen=True)
class Temperature:
    r"""Softmax of the logits divided by a temperature.

    .. math:: \log \hat{p}_v = \log \mathrm{softmax}(\text{logits}_v / T_v), \qquad \log T_v = a + b z_v

    With b = 0: Guo, Pleiss, Sun, Weinberger: On calibration of modern neural networks, ICML 2017. With a
    ``covariate``, z is its value minus ``centre``, divided by ``spread`` and clipped at three: the node-wise
    temperature of Hsu and others (What makes graph neural networks miscalibrated?, NeurIPS 2022) with one property of
    the node in place of their attention. The order of the labels does not change.
    """

    intercept: float = 0.0  # a
    slope: float = 0.0  # b
    covariate: str | None = None
    centre: float = 0.0
    spread: float = 1.0

    @property
    def name(self) -> str:
        """``temperature`` or ``temperature_by_<covariate>``."""
        return "temperature" if self.covariate is None else f"temperature_by_{self.covariate}"

    @property
    def needs(self) -> tuple[str, ...]:
        """The covariate, if there is one."""
        return () if self.covariate is None else (self.covariate,)

    def fit(self, inputs: CalibrationInputs, labels: Tensor) -> Temperature:
        r"""The temperature with the lowest log loss on these nodes.

        .. math:: \min_{a, b} \; - \sum_v \log \hat{p}_v(y_v) + b^2 / 2

        The penalty is a standard normal prior on b, which few nodes leave near zero. Without a covariate the loss is
        convex in 1/T and has one minimum.

        Shapes: ``labels`` (n,), all known.
        """
        scaled = self._standardised_on(inputs)
        spread = float(inputs.logits.double().std(1, correction=0).mean()) or 1.0
        arguments = inputs.logits.double().numpy() / spread, labels.numpy(), scaled.standardised(inputs).numpy()
        max_slope = 0.0 if self.covariate is None else MAX_SLOPE
        bounds = [(-MAX_STEP, MAX_STEP), (-max_slope, max_slope)]
        result = minimize(_objective, np.zeros(2), arguments, "L-BFGS-B", jac=True, bounds=bounds, options=TOLERANCES)
        step, slope = result.x.tolist()
        return replace(scaled, intercept=step + math.log(spread), slope=slope)

    def log_probabilities(self, inputs: CalibrationInputs) -> Tensor:
        """Log-softmax of the logits over the temperature of each node, (n, C)."""
        log_temperature = self.intercept + self.slope * self.standardised(inputs)
        return (inputs.logits.double() / log_temperature.exp()[:, None]).log_softmax(-1)

    def standardised(self, inputs: CalibrationInputs) -> Tensor:
        """z, (n,); zero without a covariate."""
        if self.covariate is None:
            return torch.zeros(len(inputs.logits), dtype=torch.float64)
        if self.covariate not in inputs.covariates:
            raise unknown_name("covariate", self.covariate, inputs.covariates)
        values, count = inputs.covariates[self.covariate].double(), len(inputs.logits)
        if values.shape != (count,):
            got = tuple(values.shape)
            raise DataError(f"covariate {self.covariate!r}: expected one number per node, {count}, got {got}")
        return ((values - self.centre) / self.spread).clamp(-MAX_SCORE, MAX_SCORE)

    def to_json(self) -> dict[str, Any]:
        """Intercept, slope, centre and spread."""
        values = asdict(self)
        del values["covariate"]  # part of the name
        return values

    def from_json(self, parameters: Mapping[str, Any]) -> Temperature:
        """With the parameters of :meth:`to_json`."""
        values = checked_numbers(parameters, LIMITS)
        return replace(self, **values)

    def _standardised_on(self, inputs: CalibrationInputs) -> Temperature:
        """With the mean and the standard deviation of the covariate of these nodes."""
        if self.covariate is None:
            return self
        values = inputs.covariates[self.covariate].double()
        return replace(self, centre=float(values.mean()), spread=float(values.std(correction=0)) or 1.0)


# The first is the default; a later one must be clearly better on held-out labels. UNCALIBRATED is used with too few.
UNCALIBRATED = Uncalibrated()
CANDIDATES: tuple[Calibrator, ...] = (
    Temperature(),
    Temperature(covariate="degree"),
    Temperature(covariate="precision"),
)


def calibrator_named(name: str) -> Calibrator:
    """The unfitted calibrator of that name."""
    by_name = {calibrator.name: calibrator for calibrator in (UNCALIBRATED, *CANDIDATES)}
    if name not in by_name:
        raise unknown_name("calibrator", name, by_name)
    return by_name[name]


def checked_numbers(record: Mapping[str, Any], limits: Mapping[str, tuple[float, float]]) -> dict[str, Any]:
    """The numbers of a record, which must have exactly these names and lie within their limits."""
    if record.keys() != limits.keys():
        raise CorruptFileError(f"calibrator: expected the values {list(limits)}, got {list(record)}")
    for name, (low, high) in limits.items():
        value = record[name]
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not is_number or not low <= value <= high:
            raise CorruptFileError(f"calibrator: expected {name} between {low:g} and {high:g}, got {value!r}")
    return {name: float(value) for name, value in record.items()}


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
