"""What the features say of a training node's label when that label is left out."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix

FloatArray = npt.NDArray[np.float64]

HOPS = 2
SHARPNESS = 20.0  # cosines of neighbouring classes differ by about a twentieth


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
    products = (features @ centroids.T).toarray()  # (train, C)
    lengths = np.tile(_squared_lengths(centroids), (len(labels), 1))
    own, given = _squared_lengths(features), (rows, labels)
    lengths[given] += own - 2 * products[given]
    products[given] -= own
    likeness = np.divide(products, np.sqrt(lengths.clip(min=0)), out=np.zeros_like(products), where=lengths > 1e-9)
    lonely = np.bincount(labels, minlength=graph.num_classes)[labels] == 1
    likeness[given] = np.where(lonely, likeness.max(1, initial=0.0), likeness[given])
    return torch.from_numpy(SHARPNESS * likeness).softmax(1)


def averaged_features(graph: Graph) -> sp.csr_array:
    """The features of the training nodes, averaged over their surroundings and of unit length, (train, F)."""
    given = graph.features
    features = given.to_scipy() if isinstance(given, SparseMatrix) else sp.csr_array(given.numpy())
    average = graph.adjacency.with_ones().to_scipy()
    average = sp.diags_array(1.0 / (graph.degrees.numpy() + 1)) @ average
    reach = average[graph.train.numpy()]
    for _ in range(HOPS - 1):
        reach = reach @ average
    averaged = reach @ _unit_rows(features)
    return _unit_rows(averaged)


def _unit_rows(matrix: sp.csr_array) -> sp.csr_array:
    lengths = np.sqrt(_squared_lengths(matrix))
    return sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ matrix


def _squared_lengths(matrix: sp.csr_array) -> FloatArray:
    return np.asarray(matrix.multiply(matrix).sum(1), dtype=np.float64)
