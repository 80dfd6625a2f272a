"""The label scores mu and their precisions, two parameters per node and class."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.ops import softmax

MuForm = Literal["free", "softmax"]
PrecisionForm = Literal["free", "elu", "sigmoid"]

# Below this size the inverse of a precision is replaced by a line through zero, so that a covariance stays finite
# and keeps its sign while a precision crosses zero.
SMALLEST_PRECISION = 1e-2
SMALLEST_SCORE = 1e-6  # of a mean whose logarithm is taken
DRAWN_AT_ONCE = 65_536  # rows


class LabelDistribution(nn.Module):
    r"""Label scores :math:`\mu_v` and the diagonal of :math:`\Sigma_v^{-1}` (section 3), looked up by node id.

    The paper models both directly (``free``); the released code has mu = softmax(free) and precision =
    ELU(free). mu starts from Xavier's distribution, the covariance from the identity (section 6.1). A ``sigmoid``
    keeps precisions between 0 and 1. With a ``temperature`` T below one mu = softmax(free / T) is sharper than the
    consensus, softmax(free).

    Shapes: ``forward(rows)`` returns mu (N, C) and precision (N, C) of these rows. Of a part of a graph the rows of
    its ``own`` nodes alone are kept; they start as they would in the whole.
    """

    def __init__(
        self,
        num_nodes: int,
        num_classes: int,
        *,
        mu_form: MuForm,
        precision_form: PrecisionForm,
        temperature: float = 1.0,
        own: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.num_nodes, self.own = num_nodes, own
        self.temperature = temperature
        self.mu_form = mu_form
        self.precision_form = precision_form
        rows = num_nodes if own is None else len(own)
        self.raw_mu = nn.Parameter(torch.empty(rows, num_classes))
        self.raw_precision = nn.Parameter(torch.empty(rows, num_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.own is None:
            nn.init.xavier_uniform_(self.raw_mu)
        else:
            _draw_own_rows(self.raw_mu, self.own, self.num_nodes)
        nn.init.ones_(self.raw_precision)

    def forward(self, rows: Tensor | slice) -> tuple[Tensor, Tensor]:
        mu, precision = _rows(self.raw_mu, rows), _rows(self.raw_precision, rows)
        if self.mu_form == "softmax":
            mu = softmax(mu if self.temperature == 1.0 else mu / self.temperature)
        if self.precision_form == "elu":
            precision = functional.elu(precision)
        elif self.precision_form == "sigmoid":
            precision = precision.sigmoid()
        return mu, precision

    def consensus(self, rows: Tensor | slice) -> Tensor:
        """The label scores before they are sharpened, (N, C)."""
        return softmax(_rows(self.raw_mu, rows))

    def extended(self, num_nodes: int) -> LabelDistribution:
        """The same with rows for more nodes, of which nothing is known yet."""
        larger = LabelDistribution(
            num_nodes,
            self.raw_mu.shape[1],
            mu_form=self.mu_form,
            precision_form=self.precision_form,
            temperature=self.temperature,
        )
        with torch.no_grad():
            larger.raw_mu[: len(self.raw_mu)] = self.raw_mu
            larger.raw_precision[: len(self.raw_precision)] = self.raw_precision
        return larger

    @torch.no_grad()
    def set_undecided(self, rows: Tensor) -> None:
        """Equal scores, and the precision that training starts from."""
        self.raw_mu[rows] = 0.0
        self.raw_precision[rows] = 1.0

    @torch.no_grad()
    def set_mean(self, rows: Tensor, others: Tensor, heard_by: Tensor) -> None:
        """Give each of the rows (n,) the mean of others (m,), weighed by their precision; one that hears none is left.

        ``heard_by`` (m,) says which of the rows each of the others counts for.
        """
        _, precision = self(others)
        weight = precision.clamp(min=SMALLEST_PRECISION)
        scores = self.consensus(others) if self.mu_form == "softmax" else self.raw_mu[others]

        def total(values: Tensor) -> Tensor:
            return values.new_zeros(len(rows), values.shape[1]).index_add_(0, heard_by, values)

        counts = torch.bincount(heard_by, minlength=len(rows))[:, None]
        reached = counts.squeeze(1) > 0
        mean = total(weight * scores)[reached] / total(weight)[reached]
        self.raw_mu[rows[reached]] = mean.clamp(min=SMALLEST_SCORE).log() if self.mu_form == "softmax" else mean
        self.raw_precision[rows[reached]] = total(self.raw_precision[others])[reached] / counts[reached]


@torch.no_grad()
def _draw_own_rows(table: Tensor, own: Tensor, num_nodes: int) -> None:
    """What Xavier's distribution gives these rows of a table of all nodes, which is never held as a whole."""
    classes = table.shape[1]
    bound = math.sqrt(6.0 / (num_nodes + classes))
    for first in range(0, num_nodes, DRAWN_AT_ONCE):
        block = torch.empty(min(DRAWN_AT_ONCE, num_nodes - first), classes, dtype=table.dtype).uniform_(-bound, bound)
        begin, end = torch.searchsorted(own, torch.tensor([first, first + len(block)])).tolist()
        table[begin:end] = block[own[begin:end] - first]


def _rows(table: Tensor, rows: Tensor | slice) -> Tensor:
    return table if rows == slice(0, len(table)) else table[rows]


def covariance(precision: Tensor) -> Tensor:
    r"""The diagonal of :math:`\Sigma`: 1/p for a precision p, and p/s\ :sup:`2` where |p| is below s, the smallest."""
    return precision / precision.square().clamp(min=SMALLEST_PRECISION**2)
