"""A linear model of the features alone, to compare a run with: does the graph improve on it?

It must be cheap beside a training, so it is solved in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn.confidence.calibration import stratified_folds
from confgcn.data.transforms import suited_scaling
from confgcn.graph import Graph
from confgcn.runs.cross_validation import FOLDS
from confgcn.sparse import SparseMatrix, rows_of

FloatArray = npt.NDArray[np.float64]
Rows: TypeAlias = "FloatArray | sp.csr_array"

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
    features, train = scaled_rows(rows_of(graph.features, nodes)), graph.train_labels.numpy()
    count = len(train)
    if held_out_nodes is not None:
        return torch.from_numpy(ridge_probabilities(features[:count], train, features[count:], graph.num_classes))
    fold = stratified_folds(graph.train_labels, FOLDS, seed=seed).numpy()
    held_out = np.empty((count, graph.num_classes))
    for number in np.unique(fold):
        rest, inside = fold != number, fold == number
        held_out[inside] = ridge_probabilities(features[rest], train[rest], features[inside], graph.num_classes)
    return torch.from_numpy(held_out)


def scaled_rows(features: Tensor | SparseMatrix) -> Rows:
    """Rows of unit length, or columns of unit deviation where :func:`suited_scaling` finds units of measurement."""
    by_column = suited_scaling(features) == "columns"
    if isinstance(features, SparseMatrix):
        sparse = features.to_scipy().astype(np.float64)
        if by_column:
            return sparse @ sp.diags_array(_inverse(_deviations(sparse)))
        return sp.diags_array(_inverse(np.sqrt(sparse.multiply(sparse).sum(1)))) @ sparse
    dense = features.double().numpy()
    return dense * (_inverse(dense.std(0)) if by_column else _inverse(np.linalg.norm(dense, axis=1))[:, None])


def ridge_probabilities(features: Rows, labels: npt.NDArray[np.int64], new: Rows, num_classes: int) -> FloatArray:
    r"""Class probabilities of the rows ``new`` (m, F) by ridge regression of the labels (n,) on ``features`` (n, F).

    .. math:: p(c \mid x) \propto \pi_c \exp\left(b\, x^T w_c\right), \qquad
              w_c = \arg\min_w \sum_i \left(\mathbb{1}[y_i = c] - \bar{y}_c - x_i^T w\right)^2 + \lambda |w|^2

    for centred x, with the share of labels of a class as its prior. The penalty and the slope b have the lowest
    leave-one-out log loss on the labels. Returns (m, C).
    """
    count = len(labels)
    truth = np.zeros((count, num_classes))
    truth[np.arange(count), labels] = 1.0
    log_prior = np.log((truth.sum(0) + 1.0) / (count + num_classes))  # finite for a class without a label
    coordinates, of_new = principal_coordinates(features, new)  # (n, r), (m, r)
    fits = [_Ridge.fit(coordinates, truth - truth.mean(0), penalty) for penalty in PENALTIES]
    losses = {
        (fit, slope): -_log_softmax(log_prior + slope * fit.left_out)[np.arange(count), labels].mean()
        for fit in fits
        for slope in SLOPES
    }
    best, slope = min(losses, key=lambda key: losses[key])
    return np.exp(_log_softmax(log_prior + slope * (of_new @ best.weights)))


@dataclass(frozen=True, eq=False)
class _Ridge:
    """``weights`` (r, C), and ``left_out`` (n, C): the score of each row by a fit without it."""

    weights: FloatArray
    left_out: FloatArray

    @classmethod
    def fit(cls, coordinates: FloatArray, centred: FloatArray, penalty: float) -> _Ridge:
        """Of coordinates (n, r) on orthogonal axes and one-hot labels minus their mean (n, C)."""
        squares = coordinates**2
        strength = squares.sum(0)
        shrunk = 1.0 / (strength + penalty * strength.sum() / len(centred))
        weights = shrunk[:, None] * (coordinates.T @ centred)
        leverage = (squares @ shrunk + 1.0 / len(centred)).clip(max=HIGHEST_LEVERAGE)[:, None]
        return cls(weights, (coordinates @ weights - leverage * centred) / (1.0 - leverage))


def principal_coordinates(rows: Rows, new: Rows) -> tuple[FloatArray, FloatArray]:
    """Coordinates of ``rows`` (n, F) and ``new`` (m, F), minus the mean of ``rows``, on the principal axes of ``rows``.

    Shapes: (n, r) and (m, r), with r at most min(n, F). Sparse rows are not made dense where n is at most F.
    """
    count, num_features = rows.shape
    if count > num_features:
        dense, of_new = _dense(rows), _dense(new)
        mean = dense.mean(0)
        centred = dense - mean
        values, axes = np.linalg.eigh(centred.T @ centred)
        axes = axes[:, _is_large(values)]
        return centred @ axes, of_new @ axes - mean @ axes
    products, with_new = _dense(rows @ rows.T), _dense(new @ rows.T)
    of_mean = products.mean(0)
    products = products - of_mean - of_mean[:, None] + of_mean.mean()
    with_new = with_new - of_mean - with_new.mean(1, keepdims=True) + of_mean.mean()
    values, axes = np.linalg.eigh(products)
    axes, lengths = axes[:, _is_large(values)], np.sqrt(values[_is_large(values)])
    return axes * lengths, with_new @ (axes / lengths)


def _is_large(eigenvalues: FloatArray) -> npt.NDArray[np.bool_]:
    return eigenvalues > SMALLEST_EIGENVALUE * max(float(eigenvalues.max(initial=0.0)), np.finfo(np.float64).tiny)


def _log_softmax(scores: FloatArray) -> FloatArray:
    shifted: FloatArray = scores - scores.max(1, keepdims=True)
    log_total: FloatArray = np.log(np.exp(shifted).sum(1, keepdims=True))
    return shifted - log_total


def _deviations(matrix: sp.csr_array) -> FloatArray:
    mean, square = (np.asarray(m.sum(0)) / matrix.shape[0] for m in (matrix, matrix.multiply(matrix)))
    deviations: FloatArray = np.sqrt((square - mean**2).clip(min=0.0))
    return deviations


def _inverse(values: FloatArray) -> FloatArray:
    inverse: FloatArray = np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)
    return inverse


def _dense(matrix: Rows) -> FloatArray:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())
