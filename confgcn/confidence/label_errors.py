"""Training labels that are probably wrong, and edges that probably join different labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor

from confgcn.confidence.neighbourhood import edge_blocks, neighbour_sum
from confgcn.graph import Graph
from confgcn.models.prior import class_prior
from confgcn.sparse import SparseMatrix, SparseStructure

FloatArray = npt.NDArray[np.float64]
Rows: TypeAlias = "FloatArray | sp.csr_array"  # dense or sparse like the features; sparse ones are never made dense

MAX_EDGES = 1_000  # that are listed
MIN_PROBABILITY = 1e-4  # limits the weight of a single estimate
SHARPNESS = 20.0  # cosines of neighbouring classes differ by about a twentieth
BLOCK_ROWS = 10_000  # of dense features, to find their norms
BLOCK_NUMBERS = 2**22  # of dense features in double precision: as many columns as fit


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """Training nodes, most probable label error first.

    Shapes: ``nodes``, ``given`` (their labels), ``suggested`` (the most probable other label), ``score``, all (train,).
    With a score above zero the suggested label is more probable than the given one, by that much in log-probability.
    """

    nodes: Tensor
    given: Tensor
    suggested: Tensor
    score: Tensor


@dataclass(frozen=True, eq=False)
class DisagreeingEdges:
    """Undirected edges, each once with ``source`` < ``target``, most probable disagreement first.

    Shapes: ``source``, ``target``, ``disagreement`` (edges,); ``influence`` likewise, or None.
    """

    source: Tensor
    target: Tensor
    disagreement: Tensor
    influence: Tensor | None

    def named(self, graph: Graph) -> list[tuple[str, str, float]]:
        """The names of both ends and the disagreement."""
        columns = (column.tolist() for column in (self.source, self.target, self.disagreement))
        return [(graph.node_names[u], graph.node_names[v], value) for u, v, value in zip(*columns, strict=True)]


def find_label_errors(graph: Graph, probabilities: Tensor, feature_probabilities: Tensor | None = None) -> LabelErrors:
    r"""Rank the training labels by the log-probability of the best other label minus that of the given one.

    .. math:: s_v = \max_{c \ne y_v} \log q_v(c) - \log q_v(y_v)

    The model was fitted to the label in question, so its own probability is no evidence. q is the product of two
    estimates that do not use it: :func:`neighbour_probabilities` and :func:`centroid_probabilities`. The latter can be
    passed as ``feature_probabilities`` (train, C); the graph then needs no features.
    """
    by_features = centroid_probabilities(graph) if feature_probabilities is None else feature_probabilities
    by_neighbours = neighbour_probabilities(graph, probabilities, graph.train)
    log_estimates = torch.stack([by_neighbours, by_features]).clamp(min=MIN_PROBABILITY).log().sum(0)
    score, suggested = label_margin(log_estimates, graph.train_labels)
    order = torch.argsort(score, descending=True, stable=True)
    return LabelErrors(graph.train[order], graph.train_labels[order], suggested[order], score[order])


def label_margin(log_estimates: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """By how much the best other label exceeds the given one, and which it is, for (n, C): (n,) each."""
    given = labels[:, None]
    best, suggested = log_estimates.scatter(1, given, -torch.inf).max(1)
    return best - log_estimates.gather(1, given).squeeze(1), suggested


def neighbour_probabilities(graph: Graph, probabilities: Tensor, nodes: Tensor) -> Tensor:
    """The mean of the probabilities of the neighbours of these nodes and of the class prior, (n, C).

    Neighbours with a training label count by their probabilities too: their labels may be wrong.
    """
    prior = class_prior(graph, probabilities.double())
    return (neighbour_sum(graph, probabilities, nodes) + prior) / (graph.degrees[nodes] + 1)[:, None]


def centroid_probabilities(graph: Graph) -> Tensor:
    r"""Softmax of the similarity of each training node to the classes, without its own label, (train, C).

    .. math:: q_v(c) \propto \exp\left(\beta \cos\left(x_v, \sum_{u \in V_l \setminus v,\, y_u = c} x_u\right)\right)

    with x the features averaged twice over the neighbours (Wu and others: Simplifying graph convolutional networks,
    ICML 2019) and scaled to unit norm. The only node of a class gets the similarity of the most similar class, so that
    features are no evidence for or against its label.
    """
    features = averaged_features(graph)
    labels = graph.train_labels.numpy()
    rows = np.arange(len(labels))
    indicator = sp.csr_array((np.ones(len(labels)), (labels, rows)), shape=(graph.num_classes, len(labels)))
    centroids = indicator @ features
    products = _dense(features @ centroids.T)  # (train, C)
    norms = np.tile(_squared_norms(centroids), (len(labels), 1))
    own, given = _squared_norms(features), (rows, labels)
    norms[given] += own - 2 * products[given]
    products[given] -= own
    similarity = np.divide(products, np.sqrt(norms.clip(min=0)), out=np.zeros_like(products), where=norms > 1e-9)
    is_only = np.bincount(labels, minlength=graph.num_classes)[labels] == 1
    similarity[given] = np.where(is_only, similarity.max(1, initial=0.0), similarity[given])
    return torch.from_numpy(SHARPNESS * similarity).softmax(1)


def averaged_features(graph: Graph) -> Rows:
    """The features of the training nodes, averaged twice over neighbourhoods and of unit norm, (train, F)."""
    nearest, _ = graph.adjacency.at_rows(graph.train)
    near = nearest.indices.unique()
    first, second = _averaging(nearest.at_columns(near)), _averaging(graph.adjacency.at_rows(near)[0])
    features = graph.features
    if isinstance(features, SparseMatrix):
        return _unit_rows((first @ second) @ _unit_rows(features.to_scipy()))
    return _unit_rows(_averaged_columns(first, second, features))


def find_disagreeing_edges(
    graph: Graph, probabilities: Tensor, influence: Tensor | None = None, *, limit: int = MAX_EDGES
) -> DisagreeingEdges:
    r"""Rank edges by the probability that their ends have different labels; the first ``limit`` are kept.

    .. math:: P(y_u \ne y_v) = 1 - \sum_c \hat{p}_u(c) \, \hat{p}_v(c)

    The influence (E,) is listed as the mean of both directions: an edge without influence does no harm.
    """
    none = torch.empty(0, dtype=torch.long)
    most = DisagreeingEdges(none, none, none.double(), None)
    for ends in graph.edge_blocks():
        source, target = map(torch.from_numpy, ends)
        disagreement = torch.cat([most.disagreement, _disagreement(probabilities, source, target)])
        order = torch.argsort(disagreement, descending=True, stable=True)[:limit]
        source, target = torch.cat([most.source, source])[order], torch.cat([most.target, target])[order]
        most = DisagreeingEdges(source, target, disagreement[order], None)
    if influence is None:
        return most
    on_target = influence[_entries(graph.adjacency, most.target, most.source)]
    on_source = influence[_entries(graph.adjacency, most.source, most.target)]
    return replace(most, influence=(on_target + on_source) / 2)


def _averaging(structure: SparseStructure) -> sp.csr_array:
    """The matrix whose product with x is the mean of x over the entries of each row."""
    counts = structure.indptr.diff()
    return SparseMatrix(structure, torch.repeat_interleave(1.0 / counts.double(), counts)).to_scipy()


def _averaged_columns(first: sp.csr_array, second: sp.csr_array, features: Tensor) -> FloatArray:
    """Both means of rows of unit norm, some columns at a time: no copy of all features is made."""
    num_nodes, num_features = features.shape
    scale = np.empty((num_nodes, 1))
    for start in range(0, num_nodes, BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        scale[rows, 0] = _inverse_norms(sp.csr_array(features[rows].numpy()))
    width = max(1, BLOCK_NUMBERS // num_nodes)
    averaged = np.empty((first.shape[0], num_features))
    for start in range(0, num_features, width):
        columns = slice(start, start + width)
        averaged[:, columns] = first @ (second @ (features[:, columns].numpy() * scale))
    return averaged


def _unit_rows(matrix: Rows) -> Rows:
    scale = _inverse_norms(matrix)
    return matrix * scale[:, None] if isinstance(matrix, np.ndarray) else sp.diags_array(scale) @ matrix


def _inverse_norms(matrix: Rows) -> FloatArray:
    """One over the norm of each row; one for a row of zeros."""
    norms = np.sqrt(_squared_norms(matrix))
    return 1.0 / np.where(norms > 0, norms, 1.0)


def _squared_norms(matrix: Rows) -> FloatArray:
    if isinstance(matrix, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", matrix, matrix))
    return np.asarray(matrix.multiply(matrix).sum(1), dtype=np.float64)


def _dense(matrix: Rows) -> FloatArray:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def _entries(adjacency: SparseStructure, rows: Tensor, columns: Tensor) -> Tensor:
    """The positions of existing entries (row, column) of the adjacency; one search per entry, as rows may be long."""
    positions = []
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        first, last = adjacency.indptr[row : row + 2].tolist()
        positions.append(first + int(torch.searchsorted(adjacency.indices[first:last], column)))
    return torch.tensor(positions, dtype=torch.long)


def _disagreement(probabilities: Tensor, source: Tensor, target: Tensor) -> Tensor:
    agreement = [
        (probabilities[u].double() * probabilities[v].double()).sum(1)
        for u, v in edge_blocks(source, target, width=probabilities.shape[1])
    ]
    return 1.0 - torch.cat(agreement)
