"""Probabilities that mean what they say: which scaling of the logits, if any, held-out labels speak for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from confgcn.confidence.temperature import Temperature, fit_temperature
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.graph import Graph
from confgcn.models.base import Prediction

FEWEST_NODES = 10  # below, a temperature would be fitted to luck
NONE, PLAIN = "none", "temperature"


@dataclass(frozen=True)
class Calibration:
    """The scaling that was chosen, and what it was chosen over.

    Attributes:
        name: "none" where there were too few labels, "temperature", or the covariate the temperature goes by.
        temperature: its parameters, fitted to all held-out nodes.
        log_losses: mean log loss out of fold of every candidate; empty for "none".
        num_nodes: labels it was fitted to.
    """

    name: str
    temperature: Temperature
    log_losses: dict[str, float]
    num_nodes: int

    def apply(self, logits: Tensor, covariates: Mapping[str, Tensor]) -> Tensor:
        """Calibrated log-probabilities, (N, C)."""
        return self.temperature.apply(logits, covariates)

    def to_json(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Calibration:
        """From the values of :meth:`to_json`."""
        try:
            return cls(**{**record, "temperature": Temperature(**record["temperature"])})
        except (KeyError, TypeError) as error:
            expected = ", ".join(cls.__dataclass_fields__)
            raise CorruptFileError(f"calibration: expected the values {expected}, got {list(record)}") from error


NO_CALIBRATION = Calibration(NONE, Temperature(), {}, 0)


def covariates_of(graph: Graph, prediction: Prediction) -> dict[str, Tensor]:
    """What a temperature may go by, (N,) each: "degree" and, where the method gives one, "precision".

    The first is log(1 + degree). The second is asinh of the precision of the predicted label, which goes like the
    logarithm for large ones and is defined for the small and negative ones that training can produce.
    """
    found = {"degree": graph.degrees.double().log1p()}
    if prediction.precision is not None:
        predicted = prediction.logits.argmax(-1, keepdim=True)
        found["precision"] = prediction.precision.gather(1, predicted).squeeze(1).double().asinh()
    return found


def fit_calibration(
    logits: Tensor, labels: Tensor, nodes: Tensor, covariates: Mapping[str, Tensor], *, folds: int = 5, seed: int = 0
) -> Calibration:
    """Choose between one temperature for all and one by a covariate, and fit it.

    Every candidate is fitted to all folds but one and judged on that one. A covariate is taken only where the log loss
    of the nodes falls by more than one standard error of the mean difference; of several, the one of least loss.

    Shapes: ``logits`` (N, C), ``labels`` (N,), ``nodes`` (n,) held out of the training, ``covariates`` (N,) each.
    """
    if (labels[nodes] < 0).any():
        raise DataError(f"calibration: expected a label for each of its {len(nodes)} nodes, some have none")
    if len(nodes) < FEWEST_NODES:
        return Calibration(NONE, Temperature(), {}, len(nodes))
    held_out = logits[nodes], labels[nodes], {name: values[nodes] for name, values in covariates.items()}
    fold = stratified_folds(labels[nodes], folds, seed=seed)
    losses = {name: _out_of_fold(*held_out, fold, name) for name in (NONE, PLAIN, *covariates)}
    better = [name for name in covariates if _clearly_less(losses[name], losses[PLAIN])]
    chosen = min(better, key=lambda name: float(losses[name].mean()), default=PLAIN)
    temperature = fit_temperature(*held_out, covariate=None if chosen == PLAIN else chosen)
    return Calibration(chosen, temperature, {name: float(loss.mean()) for name, loss in losses.items()}, len(nodes))


def stratified_folds(labels: Tensor, folds: int, *, seed: int) -> Tensor:
    """A fold for each label, (n,), such that each class is spread evenly over the folds."""
    shuffled = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
    by_class = shuffled[torch.argsort(labels[shuffled], stable=True)]
    fold = torch.empty_like(labels)
    fold[by_class] = torch.arange(len(labels)) % folds
    return fold


def _out_of_fold(logits: Tensor, labels: Tensor, covariates: dict[str, Tensor], fold: Tensor, name: str) -> Tensor:
    """The log loss of every node under the candidate fitted without its fold, (n,)."""
    loss = torch.empty(len(labels), dtype=torch.float64)
    for held_out in (fold == number for number in fold.unique()):
        temperature = Temperature()
        if name != NONE:
            rest = logits[~held_out], labels[~held_out], {key: of[~held_out] for key, of in covariates.items()}
            temperature = fit_temperature(*rest, covariate=None if name == PLAIN else name)
        log_probabilities = temperature.apply(logits[held_out], {key: of[held_out] for key, of in covariates.items()})
        loss[held_out] = -log_probabilities.gather(1, labels[held_out, None]).squeeze(1)
    return loss


def _clearly_less(losses: Tensor, than: Tensor) -> bool:
    """Is the mean difference of the pairs larger than its standard error?"""
    gain = than - losses
    return float(gain.mean()) > float(gain.std()) / math.sqrt(len(gain))
