"""The kernels in torch, for tensors on any device.

On the CPU sums over edges are products with a compressed matrix, whose order of summation does not depend on the
number of threads; that of torch's gradient of ``x[index]`` does. ``index_select`` takes a third of the time of
``x[index]``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from confgcn.kernels.pure_propagation import propagation_rows as propagation_rows
from confgcn.kernels.pure_propagation import sum_feature_rows as sum_feature_rows
from confgcn.sparse import SparseStructure

# On rows up to this long torch's softmax takes four times as long as its separate steps; on longer ones it is faster.
_NARROW = 16

# Devices on which torch multiplies compressed sparse matrices; on others messages are gathered and added up.
_WITH_SPARSE_PRODUCTS = ("cpu", "cuda")


def edge_distance(structure: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
    pairs = _pairs(structure)
    difference, precisions = _across(pairs, mu, precision)
    return difference.square_().mul_(precisions).sum(-1).index_select(0, pairs.of_edge)


def edge_distance_gradient(
    structure: SparseStructure, mu: Tensor, precision: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    pairs = _pairs(structure)
    of_pair = gradient.new_zeros(len(pairs.source)).index_add_(0, pairs.of_edge, gradient).unsqueeze(-1)
    difference, precisions = _across(pairs, mu, precision)
    scaled = difference * of_pair  # (P, C)
    to_precision = _product(pairs.ends, torch.ones_like(pairs.sign, dtype=mu.dtype), difference.mul_(scaled))
    to_mu = _product(pairs.ends, 2 * pairs.sign.to(mu.dtype), precisions.mul_(scaled))
    return to_mu, to_precision


def softmax(structure: SparseStructure, scores: Tensor) -> Tensor:
    # Shifting by the largest score of each row keeps exp() in range and leaves the result unchanged.
    highest = torch.segment_reduce(scores.contiguous(), "max", offsets=structure.indptr, axis=0)
    exponential = (scores - highest.index_select(0, structure.rows)).exp_()
    sums = sum_rows(structure, exponential)
    return exponential.div_(sums.index_select(0, structure.rows))


def softmax_gradient(structure: SparseStructure, weights: Tensor, gradient: Tensor) -> Tensor:
    mean = sum_rows(structure, weights * gradient)
    return (gradient - mean.index_select(0, structure.rows)).mul_(weights)


def dense_softmax(scores: Tensor) -> Tensor:
    if scores.shape[-1] > _NARROW:
        return scores.softmax(-1)
    exponential = (scores - scores.amax(-1, keepdim=True)).exp_()
    return exponential.div_(exponential.sum(-1, keepdim=True))


def dense_softmax_gradient(weights: Tensor, gradient: Tensor) -> Tensor:
    return (gradient - (weights * gradient).sum(-1, keepdim=True)).mul_(weights)


def sum_rows(structure: SparseStructure, values: Tensor) -> Tensor:
    return torch.segment_reduce(values.contiguous(), "sum", offsets=structure.indptr, axis=0)


def multiply(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    if values.dim() == 1:
        return _product(structure, values, dense)
    return torch.stack([_product(structure, v, d) for v, d in zip(values.T, dense.unbind(1), strict=True)], dim=1)


def multiply_transposed(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    transposed, order = structure.transposed
    return multiply(transposed, values.index_select(0, order), dense)


def entry_products(structure: SparseStructure, left: Tensor, right: Tensor) -> Tensor:
    if left.dim() == 2:
        return _sampled_product(structure, left, right)
    heads = zip(left.unbind(1), right.unbind(1), strict=True)
    return torch.stack([_sampled_product(structure, one, other) for one, other in heads], dim=1)


def drop(values: Tensor, seed: int, start: int, threshold: int, scale: float) -> Tensor:
    bits = _split_mix(seed, start // 4, (values.numel() + 3) // 4, values.device).view(torch.int16)[: values.numel()]
    # As signed numbers the bits 0 .. 65535 are 0 .. 32767, -32768 .. -1: flipping the first bit puts them in order.
    dropped = (bits ^ -(2**15)).view(values.shape) > threshold - 1 - 2**15
    return values.mul(scale).masked_fill_(dropped, 0.0)


def adam_step(weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[float]) -> None:
    mean_decay, square_decay, rate, root, epsilon, weight_decay = numbers
    if weight_decay:
        gradient = gradient.add(weight, alpha=weight_decay)
    mean.lerp_(gradient, 1.0 - mean_decay)
    square.mul_(square_decay).addcmul_(gradient, gradient, value=1.0 - square_decay)
    weight.addcdiv_(mean, square.sqrt().div_(root).add_(epsilon), value=-rate)


def all_finite(values: Tensor) -> bool:
    return bool(torch.isfinite(values.sum()) or torch.isfinite(values).all())  # a sum may overflow


def _split_mix(seed: int, first: int, count: int, device: torch.device) -> Tensor:
    """Numbers of the generator SplitMix64 (Steele, Lea, Flood 2014) started with this seed."""
    z = torch.arange(first + 1, first + count + 1, device=device).mul_(_signed(0x9E3779B97F4A7C15)).add_(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = z.bitwise_xor_(_shifted_right(z, shift)).mul_(_signed(factor))
    return z.bitwise_xor_(_shifted_right(z, 31))


def _shifted_right(numbers: Tensor, places: int) -> Tensor:
    """Logical shift: zeros are shifted in for either sign."""
    return (numbers >> places).bitwise_and_((1 << (64 - places)) - 1)


def _signed(number: int) -> int:
    """The 64 bits of a number read as a signed one."""
    return number - 2**64 if number >= 2**63 else number


def _product(structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
    if values.device.type in _WITH_SPARSE_PRODUCTS:
        return _matrix(structure, values.contiguous()) @ dense
    messages = dense.index_select(0, structure.indices) * values[:, None]
    return dense.new_zeros(structure.shape[0], dense.shape[1]).index_add_(0, structure.rows, messages)


def _sampled_product(structure: SparseStructure, left: Tensor, right: Tensor) -> Tensor:
    if left.device.type not in _WITH_SPARSE_PRODUCTS:
        return (left.index_select(0, structure.rows) * right.index_select(0, structure.indices)).sum(1)
    matrix = _matrix(structure, left.new_zeros(structure.num_entries))
    sampled: Tensor = torch.sparse.sampled_addmm(matrix, left.contiguous(), right.contiguous().T)
    return sampled.values()


def _matrix(structure: SparseStructure, values: Tensor) -> Tensor:
    _silence_beta_warning()
    return torch.sparse_csr_tensor(structure.indptr, structure.indices, values, structure.shape, check_invariants=False)


@cache
def _silence_beta_warning() -> None:
    """torch warns once in a process that this layout is in beta: trigger the warning here and ignore it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        no_entries = torch.empty(0, dtype=torch.long)
        torch.sparse_csr_tensor(torch.tensor([0, 0]), no_entries, torch.empty(0), (1, 1), check_invariants=False)


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The pairs of nodes with an edge; in a symmetric structure both directions of an edge are one pair.

    Shapes: ``source``, ``target`` (P,); ``of_edge`` (E,), the pair of each edge; ``ends`` (N, P), the pairs of each
    node, with ``sign`` (2 P,): -1 where the node is the pair's target, 1 where it is the source.
    """

    source: Tensor
    target: Tensor
    of_edge: Tensor
    ends: SparseStructure
    sign: Tensor

    def to(self, device: torch.device) -> _Pairs:
        source, target, of_edge, sign = (t.to(device) for t in (self.source, self.target, self.of_edge, self.sign))
        return _Pairs(source, target, of_edge, self.ends.to(device), sign)


_PAIRS: WeakKeyDictionary[SparseStructure, _Pairs] = WeakKeyDictionary()


def _pairs(structure: SparseStructure) -> _Pairs:
    if structure not in _PAIRS:
        with torch.inference_mode(False):  # cached tensors are used in training too
            _PAIRS[structure] = _find_pairs(structure.on_cpu).to(structure.device)
    return _PAIRS[structure]


def _find_pairs(structure: SparseStructure) -> _Pairs:
    edges = torch.arange(structure.num_entries)
    first = edges if structure.mirror is None else torch.minimum(edges, structure.mirror)
    chosen, of_edge = first.unique(return_inverse=True)
    source, target = structure.indices[chosen], structure.rows[chosen]
    both = torch.stack([source, target], dim=1).flatten()  # (2 P,)
    indptr = torch.arange(0, len(both) + 1, 2)
    ends, order = SparseStructure(indptr, both, (len(chosen), max(structure.shape))).transposed
    return _Pairs(source, target, of_edge, ends, 1 - 2 * (order % 2))


def _across(pairs: _Pairs, mu: Tensor, precision: Tensor) -> tuple[Tensor, Tensor]:
    """Differences of mu and sums of precisions over every pair, (P, C) each; new tensors that may be overwritten."""
    difference = mu.index_select(0, pairs.source).sub_(mu.index_select(0, pairs.target))
    return difference, precision.index_select(0, pairs.source).add_(precision.index_select(0, pairs.target))
