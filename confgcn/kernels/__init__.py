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
    """Shapes: ``scores``, ``weights``, ``values`` (E,) or (E, heads); ``dense`` (columns, width) or (columns, heads,
    width)."""

    def edge_distance(self, structure: SparseStructure, mu: Tensor, precision: Tensor) -> Tensor: ...

    def edge_distance_gradient(
        self, structure: SparseStructure, mu: Tensor, precision: Tensor, gradient: Tensor
    ) -> tuple[Tensor, Tensor]: ...

    def softmax(self, structure: SparseStructure, scores: Tensor) -> Tensor: ...

    def softmax_gradient(self, structure: SparseStructure, weights: Tensor, gradient: Tensor) -> Tensor: ...

    def dense_softmax(self, scores: Tensor) -> Tensor: ...

    def dense_softmax_gradient(self, weights: Tensor, gradient: Tensor) -> Tensor: ...

    def sum_rows(self, structure: SparseStructure, values: Tensor) -> Tensor: ...

    def multiply(self, structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor: ...

    def multiply_transposed(self, structure: SparseStructure, values: Tensor, dense: Tensor) -> Tensor: ...

    def entry_products(self, structure: SparseStructure, left: Tensor, right: Tensor) -> Tensor: ...

    def drop(self, values: Tensor, seed: int, start: int, threshold: int, scale: float) -> Tensor: ...

    def adam_step(
        self, weight: Tensor, gradient: Tensor, mean: Tensor, square: Tensor, numbers: Sequence[float]
    ) -> None: ...

    def all_finite(self, values: Tensor) -> bool: ...


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
