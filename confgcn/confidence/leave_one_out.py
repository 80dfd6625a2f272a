"""What the features say of a training node's label when that label is left out."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix, SparseStructure

FloatArray = npt.NDArray[np.float64]
Rows: TypeAlias = "FloatArray | sp.csr_array"  # as the features are: dense, or sparse and never made dense

SHARPNESS = 20.0  # cosines of neighbouring classes differ by about a twentieth
ROWS_AT_ONCE = 10_000  # of dense features, to find their lengths
NUMBERS_AT_ONCE = 2**22  # of dense features in double precision: as many columns as fit


def centroid_vote(graph: Graph) -> Tensor:
    r"""Softmax of the likeness of each training node to the classes, its own label left out, (train, C).

    .. math:: q_v(c) \propto \exp\left(\beta \cos\left(x_v, \sum_{u \in V_l \setminus v,\, y_u = c} x_u\right)\right)

    with x the features averaged twice over the neighbours (Wu and others: Simplifying graph convolutional networks,
    ICML 2019) and scaled to unit length. Where no other node has its label none speaks for it nor against: it is given
    the likeness of the class that is most alike.
    """
    features = averaged_features(graph)
    labels = graph.train_labels.numpy()
    rows = np.arange(len(labels))
    indicator = sp.csr_array((np.ones(len(labels)), (labels, rows)), shape=(graph.num_classes, len(labels)))
    centroids = indicator @ features
    products = _dense(features @ centroids.T)  # (train, C)
    lengths = np.tile(_squared_lengths(centroids), (len(labels), 1))
    own, given = _squared_lengths(features), (rows, labels)
    lengths[given] += own - 2 * products[given]
    products[given] -= own
    likeness = np.divide(products, np.sqrt(lengths.clip(min=0)), out=np.zeros_like(products), where=lengths > 1e-9)
    lonely = np.bincount(labels, minlength=graph.num_classes)[labels] == 1
    likeness[given] = np.where(lonely, likeness.max(1, initial=0.0), likeness[given])
    return torch.from_numpy(SHARPNESS * likeness).softmax(1)


def averaged_features(graph: Graph) -> Rows:
    """The features of the training nodes, averaged over their surroundings and of unit length, (train, F).

    Means are taken of their neighbours alone, not of every node.
    """
    nearest, _ = graph.adjacency.at_rows(graph.train)
    near = nearest.indices.unique()
    first, second = _averaging(nearest.at_columns(near)), _averaging(graph.adjacency.at_rows(near)[0])
    features = graph.features
    if isinstance(features, SparseMatrix):
        return _unit_rows((first @ second) @ _unit_rows(features.to_scipy()))
    return _unit_rows(_averaged_columns(first, second, features))


def _averaging(structure: SparseStructure) -> sp.csr_array:
    """The matrix that takes the mean over the entries of each row."""
    counts = structure.indptr.diff()
    return SparseMatrix(structure, torch.repeat_interleave(1.0 / counts.double(), counts)).to_scipy()


def _averaged_columns(first: sp.csr_array, second: sp.csr_array, features: Tensor) -> FloatArray:
    """Both means of rows of unit length, a few columns at a time: no copy of all features is made."""
    num_nodes, num_features = features.shape
    scale = np.empty((num_nodes, 1))
    for start in range(0, num_nodes, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        scale[rows, 0] = _scale(sp.csr_array(features[rows].numpy()))
    width = max(1, NUMBERS_AT_ONCE // num_nodes)
    found = np.empty((first.shape[0], num_features))
    for start in range(0, num_features, width):
        columns = slice(start, start + width)
        found[:, columns] = first @ (second @ (features[:, columns].numpy() * scale))
    return found


def _unit_rows(matrix: Rows) -> Rows:
    scale = _scale(matrix)
    return matrix * scale[:, None] if isinstance(matrix, np.ndarray) else sp.diags_array(scale) @ matrix


def _scale(matrix: Rows) -> FloatArray:
    """What makes each row one of unit length; one where there is nothing."""
    lengths = np.sqrt(_squared_lengths(matrix))
    return 1.0 / np.where(lengths > 0, lengths, 1.0)


def _squared_lengths(matrix: Rows) -> FloatArray:
    if isinstance(matrix, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", matrix, matrix))
    return np.asarray(matrix.multiply(matrix).sum(1), dtype=np.float64)


def _dense(matrix: Rows) -> FloatArray:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())
