"""The training labels around a node, near and far, never its own label: inputs of the classifier."""

from __future__ import annotations

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.graph.propagation_rows import PropagationRows
from confgcn.kernels import kernels_for
from confgcn.models.confgcn.propagation import feature_type, uniform_propagation, walk_coefficients
from confgcn.sparse import SparseMatrix

FAR_STEPS, FAR_DECAY = 10, 0.1  # of the walk to labels that are far
FOLDS = 5  # training labels whose nodes see the labels of the other folds


def label_channel(graph: Graph) -> Tensor:
    r"""For one and for two steps: the distribution of labels among labelled nodes, and their share, (N, 2C + 3).

    .. math:: Y^{(1)} = P Y_L, \qquad Y^{(2)} = P^2 Y_L - \mathrm{diag}(P^2) Y_L

    A node's own label, which two steps would return to it, is subtracted. The distribution of a node without labelled
    neighbours is uniform. The last column is the logarithm of one plus the degree. The channel has the type of the
    graph's features.
    """
    labels = _known_labels(graph)
    values, kernels = _exact(uniform_propagation(graph).without_loops), kernels_for(labels)
    first = kernels.multiply(graph.adjacency, values, labels)
    second = kernels.multiply(graph.adjacency, values, first)
    mirrored = values if graph.adjacency.mirror is None else values[graph.adjacency.mirror]
    returning = kernels.sum_rows(graph.adjacency, values * mirrored)
    second = second - returning[:, None] * labels
    return _columns(first, second, graph.degrees).to(feature_type(graph))


def far_label_channel(graph: Graph) -> Tensor:
    r"""For a walk of many steps: the distribution of labels among labelled nodes, and their share, (N, C + 1).

    .. math:: Y^{(far)} = \sum_{k=1}^{K} c_k P^k Y_L, \qquad c_k \propto (1 - \alpha)^k

    The training labels are divided into folds. A training node sees the labels of the other folds only: its own label
    does not return to it by any path.
    """
    labels, far = _known_labels(graph), _far_walk(graph, _known_labels(graph))
    for fold in _folds(graph):
        far[fold] = _far_walk(graph, labels.index_fill(0, fold, 0.0))[fold]
    return torch.cat(_distribution(far), dim=1).to(feature_type(graph))


def _far_walk(graph: Graph, labels: Tensor) -> Tensor:
    values = uniform_propagation(graph).without_loops.double()
    reached, total = labels, torch.zeros_like(labels)
    for coefficient in walk_coefficients(FAR_STEPS - 1, FAR_DECAY):
        reached = kernels_for(reached).multiply(graph.adjacency, values, reached)
        total += coefficient * reached
    return total


def far_label_row(graph: Graph, node: int) -> PropagationRows:
    """The labelled nodes that the far channel of a node sees, with their weights: a table of one row."""
    values, adjacency = uniform_propagation(graph).without_loops.double(), graph.adjacency
    reached = torch.zeros(graph.num_nodes, dtype=torch.double, device=graph.device)
    reached[node] = 1.0
    total = torch.zeros_like(reached)
    for coefficient in walk_coefficients(FAR_STEPS - 1, FAR_DECAY):
        reached = torch.zeros_like(reached).index_add_(0, adjacency.indices, values * reached[adjacency.rows])
        total += coefficient * reached
    total[_same_fold(graph, node)] = 0.0
    nodes = total.nonzero().squeeze(1)
    return _labelled_row(graph, node, nodes, total[nodes])


def _folds(graph: Graph) -> list[Tensor]:
    """The training nodes in random folds, always the same.

    Nodes can be listed in the order of their labels, again and again: folds of every fifth node would then be classes.
    """
    shuffled = torch.randperm(len(graph.train), generator=torch.Generator().manual_seed(0)).to(graph.device)
    return [graph.train[shuffled[number::FOLDS]] for number in range(FOLDS)]


def _same_fold(graph: Graph, node: int) -> Tensor:
    """The training nodes whose labels a training node does not see; none for other nodes."""
    return next((fold for fold in _folds(graph) if bool((fold == node).any())), graph.train[:0])


def label_rows(graph: Graph, node: int) -> tuple[PropagationRows, PropagationRows]:
    """The labelled nodes around a node with their weights in P and in P^2: two tables of one row.

    The node itself is in them at weight 0, as it fills the rows of other tables.
    """
    walk = SparseMatrix(graph.adjacency, _exact(uniform_propagation(graph).without_loops))
    first = walk.at_rows(torch.tensor([node]))
    second = walk.at_rows(first.structure.indices)
    weights = first.values.index_select(0, second.structure.rows) * second.values
    return (
        _labelled_row(graph, node, first.structure.indices, first.values),
        _labelled_row(graph, node, second.structure.indices, weights),
    )


def far_label_channel_of_row(graph: Graph, row: PropagationRows) -> Tensor:
    """The far label channel from variants of a row of :func:`far_label_row`, (variants, C + 1)."""
    sums = row.features(_known_labels(graph))
    assert isinstance(sums, Tensor)
    return torch.cat(_distribution(sums), dim=1).to(feature_type(graph))


def label_channel_of_rows(graph: Graph, node: int, rows: tuple[PropagationRows, PropagationRows]) -> Tensor:
    """The label channel of a node from variants of its two rows of :func:`label_rows`, (variants, 2C + 3)."""
    first, second = (table.features(_known_labels(graph)) for table in rows)
    assert isinstance(first, Tensor)
    assert isinstance(second, Tensor)
    return _columns(first, second, graph.degrees[node].expand(len(first))).to(feature_type(graph))


def _known_labels(graph: Graph) -> Tensor:
    """Y_L, (N, C)."""
    labels = torch.zeros(graph.num_nodes, graph.num_classes, dtype=torch.double, device=graph.device)
    labels[graph.train, graph.train_labels] = 1.0
    return labels


def _labelled_row(graph: Graph, node: int, reached: Tensor, weights: Tensor) -> PropagationRows:
    is_used = torch.isin(reached, graph.train) & (reached != node)
    nodes, places = reached[is_used].unique(return_inverse=True)
    sums = weights.new_zeros(len(nodes)).index_add_(0, places, weights[is_used])
    indices, weights = torch.cat([nodes, nodes.new_tensor([node])]), torch.cat([sums, sums.new_zeros(1)])
    return PropagationRows(indices.int()[None], weights[None])


def _columns(first: Tensor, second: Tensor, degrees: Tensor) -> Tensor:
    return torch.cat([*_distribution(first), *_distribution(second), degrees.double().log1p()[:, None]], dim=1)


def _exact(values: Tensor) -> Tensor:
    """Rounded to multiples of 2^-26: double precision adds and subtracts their products without an error."""
    return (values.double() * 2**26).round() / 2**26


def _distribution(sums: Tensor) -> tuple[Tensor, Tensor]:
    shares = sums.sum(1, keepdim=True)
    return torch.where(shares > 0.0, sums / shares.masked_fill(shares == 0.0, 1.0), 1.0 / sums.shape[1]), shares
