"""A linear model of the features alone, to compare a run with: does the graph improve on it?

It must be cheap beside a training, so it is solved in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

from confgcn.confidence.calibration import stratified_folds
from confgcn.data.transforms import ColumnStatistics
from confgcn.graph import Graph
from confgcn.runs.cross_validation import FOLDS
from confgcn.sparse import SparseMatrix, rows_of

Rows: TypeAlias = "Tensor | sp.csr_array"  # dense or sparse, in double precision

MAX_DIMENSION = 1_000  # of the eigenvalue problem: training labels or features, whichever are fewer
MAX_NUMBERS = 2**23  # of training and held-out rows: bounds the memory
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)  # times the mean squared length of a row
SLOPES = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SMALLEST_EIGENVALUE = 1e-9  # of the largest: below it, rounding
HIGHEST_LEVERAGE = 1.0 - 1e-9


def features_alone(graph: Graph, held_out_nodes: Tensor | None, *, seed: int) -> Tensor | None:
    """Class probabilities of held-out nodes (n,) from the features alone, (n, C); None above the size limits.

    ``held_out_nodes`` None: the training nodes, each in its fold of
    :func:`~confgcn.runs.cross_validation.cross_fit` with the same ``seed``.
    """
    new = graph.train[:0] if held_out_nodes is None else held_out_nodes
    nodes, dimension = torch.cat([graph.train, new]), min(len(graph.train), graph.num_features)
    is_empty = held_out_nodes is not None and not len(held_out_nodes)
    if is_empty or not 0 < dimension <= MAX_DIMENSION or len(nodes) * graph.num_features > MAX_NUMBERS:
        return None
    features, labels, classes = scaled_rows(rows_of(graph.features, nodes)), graph.train_labels, graph.num_classes
    if held_out_nodes is not None:
        return ridge_probabilities(features[: len(labels)], labels, features[len(labels) :], classes)
    fold = stratified_folds(labels, FOLDS, seed=seed)
    held_out = torch.empty(len(labels), classes, dtype=torch.double)
    for number in fold.unique().tolist():
        rest, inside = (mask.numpy().nonzero()[0] for mask in (fold != number, fold == number))
        held_out[inside] = ridge_probabilities(features[rest], labels[rest], features[inside], classes)
    return held_out


def scaled_rows(features: Tensor | SparseMatrix) -> Rows:
    """Rows of unit length, or columns of unit deviation where some column has its own unit of measurement."""
    columns = ColumnStatistics.of(features)
    by_column = columns.suited_scaling == "columns"
    if isinstance(features, SparseMatrix):
        sparse = features.to_scipy().astype(np.float64)
        if by_column:
            return sparse @ sp.diags_array(_inverse(columns.deviation).numpy())
        lengths = torch.from_numpy(sparse.multiply(sparse).sum(1)).sqrt()
        return sp.diags_array(_inverse(lengths).numpy()) @ sparse
    dense = features.double()
    return dense * (_inverse(columns.deviation) if by_column else _inverse(dense.norm(dim=1))[:, None])


def ridge_probabilities(features: Rows, labels: Tensor, new: Rows, num_classes: int) -> Tensor:
    r"""Class probabilities of the rows ``new`` (m, F) by ridge regression of the labels (n,) on ``features`` (n, F).

    .. math:: p(c \mid x) \propto \pi_c \exp\left(b\, x^T w_c\right), \qquad
              w_c = \arg\min_w \sum_i \left(\mathbb{1}[y_i = c] - \bar{y}_c - x_i^T w\right)^2 + \lambda |w|^2

    for centred x, with the share of labels of a class as its prior. The penalty and the slope b have the lowest
    leave-one-out log loss on the labels. Returns (m, C).
    """
    truth = one_hot(labels, num_classes).double()
    log_prior = ((truth.sum(0) + 1.0) / (len(labels) + num_classes)).log()  # finite for a class without a label
    coordinates, of_new = principal_coordinates(features, new)  # (n, r), (m, r)
    fits = [_Ridge.fit(coordinates, truth - truth.mean(0), penalty) for penalty in PENALTIES]
    losses = {
        (fit, slope): float(cross_entropy(log_prior + slope * fit.left_out, labels)) for fit in fits for slope in SLOPES
    }
    best, slope = min(losses, key=lambda key: losses[key])
    return (log_prior + slope * (of_new @ best.weights)).softmax(1)


@dataclass(frozen=True, eq=False)
class _Ridge:
    """``weights`` (r, C), and ``left_out`` (n, C): the score of each row by a fit without it."""

    weights: Tensor
    left_out: Tensor

    @classmethod
    def fit(cls, coordinates: Tensor, centred: Tensor, penalty: float) -> _Ridge:
        """Of coordinates (n, r) on orthogonal axes and one-hot labels minus their mean (n, C)."""
        squares = coordinates.square()
        strength = squares.sum(0)
        shrunk = 1.0 / (strength + penalty * strength.sum() / len(centred))
        weights = shrunk[:, None] * (coordinates.T @ centred)
        leverage = (squares @ shrunk + 1.0 / len(centred)).clamp(max=HIGHEST_LEVERAGE)[:, None]
        return cls(weights, (coordinates @ weights - leverage * centred) / (1.0 - leverage))


def principal_coordinates(rows: Rows, new: Rows) -> tuple[Tensor, Tensor]:
    """Coordinates of ``rows`` (n, F) and ``new`` (m, F), minus the mean of ``rows``, on the principal axes of ``rows``.

    Shapes: (n, r) and (m, r), with r at most min(n, F). Sparse rows are not made dense where n is at most F.
    """
    count, num_features = rows.shape
    if count > num_features:
        dense = _dense(rows)
        mean = dense.mean(0)
        centred = dense - mean
        _, axes = _principal(centred.T @ centred)
        return centred @ axes, _dense(new) @ axes - mean @ axes
    products, with_new = _dense(rows @ rows.T), _dense(new @ rows.T)
    of_mean = products.mean(0)
    products = products - of_mean - of_mean[:, None] + of_mean.mean()
    with_new = with_new - of_mean - with_new.mean(1, keepdim=True) + of_mean.mean()
    values, axes = _principal(products)
    return axes * values.sqrt(), with_new @ (axes / values.sqrt())


def _principal(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """The eigenvalues above rounding, (r,), and their eigenvectors, (n, r).

    With torch: its library raises an error where it finds no memory, that of numpy ends the process.
    """
    values, vectors = torch.linalg.eigh(matrix)
    is_large = values > SMALLEST_EIGENVALUE * values.max().clamp(min=torch.finfo(torch.double).tiny)
    return values[is_large], vectors[:, is_large]


def _inverse(values: Tensor) -> Tensor:
    return torch.where(values > 0, 1.0 / values, 0.0)


def _dense(matrix: Rows) -> Tensor:
    return matrix if isinstance(matrix, Tensor) else torch.from_numpy(np.asarray(matrix.toarray()))
