"""Label scores and precisions: two parameters per node and class."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from confgcn.models.base import Shape

# A precision whose absolute value is below this is inverted as if the inverse were linear there, so that the
# covariance stays finite and keeps its sign while a precision crosses zero.
SMALLEST_PRECISION = 1e-2
ROWS_PER_DRAW = 65_536


class LabelDistribution(nn.Module):
    r"""Free parameters of the label scores :math:`\mu_v` and of the diagonal of :math:`\Sigma_v^{-1}` (section 3).

    Each model defines how :math:`\mu` and the precisions follow from them. They start from Xavier's distribution and
    from one (section 6.1: the covariance starts as the identity).

    Shapes: ``forward(rows)`` returns ``raw_mu`` and ``raw_precision`` of these rows, (N, C) each. A shard of a graph
    has the rows of its own nodes only, with the initial values that they have in the whole graph.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.num_nodes, self.own = shape.num_nodes, shape.own
        rows = shape.num_nodes if shape.own is None else len(shape.own)
        self.raw_mu = nn.Parameter(torch.empty(rows, shape.num_classes))
        self.raw_precision = nn.Parameter(torch.empty(rows, shape.num_classes))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.own is None:
            nn.init.xavier_uniform_(self.raw_mu)
        else:
            _draw_own_rows(self.raw_mu, self.own, self.num_nodes)
        nn.init.ones_(self.raw_precision)

    def forward(self, rows: Tensor | slice) -> tuple[Tensor, Tensor]:
        return _rows(self.raw_mu, rows), _rows(self.raw_precision, rows)

    def with_rows(self, num_nodes: int) -> LabelDistribution:
        """A copy with ``num_nodes`` rows; new rows have initial values."""
        larger = LabelDistribution(Shape(num_nodes, 0, self.raw_mu.shape[1])).to(self.raw_mu)
        with torch.no_grad():
            larger.raw_mu[: len(self.raw_mu)] = self.raw_mu
            larger.raw_precision[: len(self.raw_precision)] = self.raw_precision
        return larger


@torch.no_grad()
def _draw_own_rows(table: Tensor, own: Tensor, num_nodes: int) -> None:
    """Draw these rows as Xavier's distribution draws them in a table of all nodes, which is never held in memory."""
    classes = table.shape[1]
    bound = math.sqrt(6.0 / (num_nodes + classes))
    for first in range(0, num_nodes, ROWS_PER_DRAW):
        block = torch.empty(min(ROWS_PER_DRAW, num_nodes - first), classes, dtype=table.dtype).uniform_(-bound, bound)
        begin, end = torch.searchsorted(own, torch.tensor([first, first + len(block)])).tolist()
        table[begin:end] = block[own[begin:end] - first]


def _rows(table: Tensor, rows: Tensor | slice) -> Tensor:
    return table if rows == slice(0, len(table)) else table[rows]


def covariance(precision: Tensor) -> Tensor:
    r"""The diagonal of :math:`\Sigma`: 1/p for a precision p, and :math:`p/s^2` if \|p\| is below s, the smallest."""
    return precision / precision.square().clamp(min=SMALLEST_PRECISION**2)
