"""The loops under :mod:`confgcn.ops`, over the entries of a sparse structure and without gradients.

There are two implementations: ``pure``, in torch, for tensors on any device; and ``compiled``, in C++, for tensors on
the CPU where the library could be built. Their results agree up to rounding. The environment variable
``CONFGCN_KERNELS`` selects one (``pure`` or ``compiled``).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, Protocol

from torch import Tensor

from confgcn.exceptions import ResourceError, unknown_name
from confgcn.kernels import compiled, library, pure
from confgcn.sparse import SparseStructure

Name = Literal["pure", "compiled"]


class Kernels(Protocol):
    """The functions that both implementations have.

    Shapes: ``scores``, ``weights``, ``values`` (E,) or (E, heads); ``dense`` (columns, width) or (columns, heads,
    width).
    """

    def edge_distance(self, structure: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor:
        """See :func:`confgcn.ops.edge_distance`: ``mu`` and ``precision`` (columns, C) -> (E,)."""

    def edge_distance_gradient(
        self, structure: SparseStructure, mu: Tensor, precision: Tensor, gradient: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The gradients of ``mu`` and ``precision`` from that of the distances, (E,)."""

    def softmax(self, structure: SparseStructure, scores: Tensor) -> Tensor:
        """Softmax of the scores over the entries of each row."""

    def softmax_gradient(self, structure: SparseStructure, weights: Tensor, gradient: Tensor) -> Tensor:
        """The gradient of the scores from the softmax ``weights`` and their gradient."""

    def dense_softmax(self, scores: Tensor) -> Tensor:
        """Softmax over the last axis of (N, C)."""

    def dense_softmax_gradient(self, weights: Tensor, gradient: Tensor) -> Tensor:
        """The gradient of the scores (N, C) from the softmax ``weights`` and their gradient."""

    def sum_rows(self, structure: SparseStructure, values: Tensor) -> Tensor:
        """The sum of the values in each row, (rows,) or (rows, heads)."""

    def multiply(self, structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
        """The sparse matrix of these values times ``dense``, (rows, ...)."""

    def multiply_transposed(self, structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor:
        """Its transpose times ``dense``, whose first axis is the rows."""

    def entry_products(self, structure: SparseStructure, left: Tensor, right: Tensor) -> Tensor:
        """The inner product of row i of ``left`` and row j of ``right`` for every entry (i, j)."""

    def drop(self, values: Tensor, seed: int, start: int, threshold: int, scale: float) -> Tensor:
        """Dropout; the mask depends on ``seed`` and on the positions of the values, of which the first is ``start``."""

    def adam_step(
        self, weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[float]
    ) -> None:
        """One step of Adam, in place.

        ``numbers``: decay of the mean, decay of the square, rate, root of the bias correction of the square, epsilon,
        weight decay; the rate includes the bias correction of the mean.
        """

    def all_finite(self, values: Tensor) -> bool:
        """Whether every number is finite."""

    def propagation_rows(
        self,
        structure: SparseStructure,
        values: Tensor,
        coefficients: Sequence[float],
        nodes: range,
        *,
        width: int,
        kept: int,
        without_self: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The largest entries of the rows ``nodes`` of sum_k c_k R^k, where R (N, N) has no negative ``values``.

        After every step at most ``kept`` entries of a row of R^k are carried on, the largest. Weights that agree in
        20 bits count as equal; a hash of row and column orders them. ``without_self``: the sum without the diagonal.

        Returns:
            The columns, int32, and their weights, of the type of ``values``, in descending order, (nodes, ``width``)
            each. A row with fewer entries is filled with the node itself at weight 0.
        """

    def sum_feature_rows(
        self,
        structure: SparseStructure,
        values: Tensor,
        nodes: Tensor,
        weights: Tensor,
        *,
        unit_length: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """sum_j weights_bj X[nodes_bj] of the sparse X (N, F) as indptr, indices and values of a (B, F) matrix.

        Indices are sorted within a row. ``unit_length``: rows are scaled to Euclidean length one, unless they are zero.
        Shapes: ``nodes``, int32, and ``weights`` (B, width). A row of weight zero has no entries in the sum.
        """


_chosen: Kernels | None = None


def kernels_for(values: Tensor) -> Kernels:
    """The kernels for this tensor: the selected ones on the CPU, the pure ones on other devices."""
    if not values.is_cpu:
        return pure
    return _chosen or active()


def active() -> Kernels:
    """The kernels selected for tensors on the CPU, in all threads."""
    global _chosen
    if _chosen is None:
        _chosen = _default()
    return _chosen


def active_name() -> Name:
    """The name of the kernels that :func:`active` returns."""
    return "pure" if active() is pure else "compiled"


def describe() -> str:
    """A description of the selected kernels, and what to do for faster ones."""
    if active() is compiled:
        return f"compiled, {library.instructions()}"
    return "pure torch" if library.available() else f"pure torch, which is slower; {library.why_not()}"


def use(name: Name) -> None:
    """Select these kernels."""
    global _chosen
    _chosen = _named(name)


@contextmanager
def using(name: Name) -> Iterator[None]:
    """Select these kernels within a block."""
    global _chosen
    before = _chosen
    use(name)
    try:
        yield
    finally:
        _chosen = before


def _default() -> Kernels:
    name = os.environ.get("CONFGCN_KERNELS")
    if name:
        return _named(name)
    return compiled if library.available() else pure


def _named(name: str) -> Kernels:
    if name not in ("pure", "compiled"):
        raise unknown_name("value of CONFGCN_KERNELS", name, ("pure", "compiled"))
    if name == "compiled" and not library.available():
        raise ResourceError(library.why_not())
    return compiled if name == "compiled" else pure


def all_finite(values: Tensor) -> bool:
    """Whether every number is finite."""
    return kernels_for(values).all_finite(values)
