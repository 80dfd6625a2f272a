"""A classifier of several blocks of columns, each with weights of its own in the first layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from confgcn.ops import Linear, matmul
from confgcn.sparse import SparseMatrix

Block = Tensor | SparseMatrix
Normalise = Literal["none", "columns", "gains"]

HIDDEN_DROPOUT = 0.5
SMALLEST_DEVIATION = 1e-6  # over the root mean square: below it, float32 numbers count as equal


class ChannelNetwork(nn.Module):
    r"""Logits from the channels :math:`x^{(1)}, \ldots, x^{(J)}` of a node.

    .. math:: z_j = D\!\left(\frac{x^{(j)} - m_j}{s_j}\right) \mathrm{diag}(g_j) W_j + b_j, \qquad
              \mathrm{logits} = \sum_j z_j \quad \text{or} \quad f(\mathrm{ReLU}[z_1 | \ldots | z_J])

    D is dropout. m and s, the mean and the standard deviation of each column, are measured once
    (:meth:`measure_columns`) and constant; sparse columns are not centred. The gains g start at one. f has
    ``num_layers`` - 1 layers; with two or more, layer normalisation precedes each.

    Args:
        widths: columns of each channel.
        normalise: ``none``: m = 0, s = g = 1; ``columns``: g = 1; ``gains``: as above. Where gains and weights both
            decay, columns that do not help are removed, as by a group lasso.
    """

    def __init__(
        self,
        widths: Sequence[int],
        num_classes: int,
        *,
        hidden_dim: int,
        num_layers: int,
        normalise: Normalise,
        dropout: float,
    ) -> None:
        super().__init__()
        self.normalise, self.dropout = normalise, dropout
        out = hidden_dim if num_layers > 1 else num_classes
        self.first = nn.ModuleList(Linear(width, out) for width in widths)
        self.gains = nn.ParameterList(torch.ones(width) for width in widths if normalise == "gains")
        for number, width in enumerate(widths if normalise != "none" else ()):
            self.register_buffer(f"mean_{number}", torch.zeros(width))
            self.register_buffer(f"deviation_{number}", torch.ones(width))
        sizes = [len(widths) * hidden_dim, *[hidden_dim] * (num_layers - 2)] if num_layers > 1 else []
        outputs = [*sizes[1:], num_classes]
        self.norms = nn.ModuleList(nn.LayerNorm(size) if num_layers > 2 else nn.Identity() for size in sizes)
        self.layers = nn.ModuleList(Linear(size, after) for size, after in zip(sizes, outputs, strict=False))

    def forward(self, channels: Sequence[Block]) -> Tensor:
        hidden = [self._first(number, channel) for number, channel in enumerate(channels)]
        if not self.layers:
            return torch.stack(hidden).sum(0)
        values = torch.cat(hidden, dim=1)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            values = layer(functional.dropout(norm(values.relu()), HIDDEN_DROPOUT, training=self.training))
        return values

    def _first(self, number: int, channel: Block) -> Tensor:
        layer = self.first[number]
        assert isinstance(layer, Linear)
        weight, rate = layer.weight, self.dropout if self.training else 0.0
        if self.normalise != "none":
            mean, deviation = getattr(self, f"mean_{number}"), getattr(self, f"deviation_{number}")
            if isinstance(channel, SparseMatrix):  # scaled through the weights, so that zeros stay zero
                weight = weight / deviation[:, None]
            else:
                channel = (channel - mean) / deviation
        if self.gains:
            weight = self.gains[number][:, None] * weight
        result: Tensor = matmul(channel, weight, dropout=rate) + layer.bias
        return result

    def measure_columns(self, channels: Sequence[Block]) -> None:
        """Set the mean and the standard deviation of every column to those of these rows."""
        for number, channel in enumerate(channels if self.normalise != "none" else ()):
            mean, deviation = _column_moments(channel)
            getattr(self, f"mean_{number}").copy_(mean)
            getattr(self, f"deviation_{number}").copy_(deviation)


def _column_moments(channel: Block) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of every column, in double precision; the deviation of a constant column is one."""
    if isinstance(channel, SparseMatrix):
        columns, values, count = channel.structure.indices, channel.values.double(), channel.shape[0]
        zeros = values.new_zeros(channel.shape[1])
        mean = zeros.index_add(0, columns, values) / count
        square = zeros.index_add(0, columns, values.square()) / count
        deviation = (square - mean.square()).clamp(min=0.0).sqrt()
    else:
        values = channel.double()  # a square of a float32 number can overflow
        mean, square, deviation = values.mean(0), values.square().mean(0), values.std(0, correction=0)
    return mean, torch.where(deviation <= SMALLEST_DEVIATION * square.sqrt(), 1.0, deviation)
