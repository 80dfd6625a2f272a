"""The label scores mu and their precisions, two parameters per node and class."""

from __future__ import annotations

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


class LabelDistribution(nn.Module):
    r"""Label scores :math:`\mu_v` and the diagonal of :math:`\Sigma_v^{-1}` (section 3), looked up by node id.

    The paper models both directly (``free``); the released code has mu = softmax(free) and precision =
    ELU(free). mu starts from Xavier's distribution, the covariance from the identity (section 6.1). A ``sigmoid``
    keeps precisions between 0 and 1. With a ``temperature`` T below one mu = softmax(free / T) is sharper than the
    consensus, softmax(free).

    Shapes: ``forward(rows)`` returns mu (N, C) and precision (N, C) of these rows.
    """

    def __init__(
        self,
        num_nodes: int,
        num_classes: int,
        *,
        mu_form: MuForm,
        precision_form: PrecisionForm,
        temperature: float = 1.0,
    ) -> None:
        super().__init__()
        self.temperature = temperature
        self.mu_form = mu_form
        self.precision_form = precision_form
        self.raw_mu = nn.Parameter(torch.empty(num_nodes, num_classes))
        self.raw_precision = nn.Parameter(torch.empty(num_nodes, num_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.xavier_uniform_(self.raw_mu)
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


def _rows(table: Tensor, rows: Tensor | slice) -> Tensor:
    return table if rows == slice(0, len(table)) else table[rows]


def covariance(precision: Tensor) -> Tensor:
    r"""The diagonal of :math:`\Sigma`: 1/p for a precision p, and p/s\ :sup:`2` where |p| is below s, the smallest."""
    return precision / precision.square().clamp(min=SMALLEST_PRECISION**2)
