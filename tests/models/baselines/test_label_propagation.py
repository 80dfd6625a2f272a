"""Label propagation against a dense solve, class masses by hand, and what decides where scores are equal."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.baselines.label_propagation import LabelPropagation, harmonic_scores
from confgcn.models.prior import PRIOR_SHARE

FloatArray = npt.NDArray[np.float64]
either_masses = pytest.mark.parametrize("mass_normalisation", [True, False], ids=["mass", "plain"])


def graph_of(edges: object, labels: list[int], train: list[int]) -> Graph:
    return Graph.build(edges, np.eye(len(labels)), labels, train=train)


def two_components() -> Graph:
    """20 nodes in a random connected component with six labels, 10 in another without one."""
    random = np.random.default_rng(3)
    chains = [(i, i + 1) for i in range(29) if i != 19]
    extra = [*random.integers(20, size=(15, 2)).tolist(), *(20 + random.integers(10, size=(5, 2))).tolist()]
    return graph_of([*chains, *extra], [v % 3 for v in range(30)], [0, 4, 9, 10, 15, 17])


def dense_harmonic(graph: Graph) -> tuple[FloatArray, list[int]]:
    """F of the unlabelled nodes 0 to 19, and which nodes they are."""
    w = np.zeros((30, 30))
    w[graph.neighbours.rows, graph.neighbours.indices] = 1.0
    labelled = graph.train.tolist()
    unlabelled = [v for v in range(20) if v not in labelled]
    y = np.eye(graph.num_classes)[graph.labels[graph.train]]
    laplacian = np.diag(w.sum(1)) - w
    return np.linalg.solve(laplacian[np.ix_(unlabelled, unlabelled)], w[np.ix_(unlabelled, labelled)] @ y), unlabelled


def probabilities(graph: Graph, **settings: bool) -> Tensor:
    method = LabelPropagation(Shape.of(graph), **settings)
    method.setup(graph.training_view())
    return method(graph).raw_probabilities


def without_prior(mixed: Tensor, prior: Tensor) -> Tensor:
    """The share of an answer that the scores decide."""
    return (mixed - PRIOR_SHARE * prior) / (1 - PRIOR_SHARE)


def test_harmonic_scores_are_those_of_a_dense_solve() -> None:
    graph = two_components()
    expected, unlabelled = dense_harmonic(graph)
    is_labelled, is_unlabelled = np.zeros((2, 30), dtype=bool)
    is_labelled[graph.train] = is_unlabelled[unlabelled] = True
    known = np.eye(graph.num_classes)[graph.labels[graph.train]]
    np.testing.assert_allclose(harmonic_scores(graph, known, is_labelled, is_unlabelled), expected, atol=1e-9)


def test_probabilities_are_the_harmonic_scores() -> None:
    graph = two_components()
    expected, unlabelled = dense_harmonic(graph)
    found = probabilities(graph, mass_normalisation=False)
    ours = without_prior(found[unlabelled], found[25])
    torch.testing.assert_close(ours, torch.from_numpy(expected).float(), rtol=0, atol=1e-6)


def test_class_masses_by_hand() -> None:
    """Labels 0 and 1 at the ends of a path of five; the nodes between have 3/4, 1/2 and 1/4 of class 0.

    A sixth node with label 0 hangs on the first. The shares are (2 + 1) : (1 + 1), the masses 3/2 each.
    """
    graph = graph_of([(0, 1), (1, 2), (2, 3), (3, 4), (0, 5)], [0, 0, 0, 1, 1, 0], [0, 4, 5])
    zero, one = 3 / 1.5, 2 / 1.5
    expected = [3 * zero / (3 * zero + one), zero / (zero + one), zero / (zero + 3 * one)]
    share = (2 + sum(expected)) / 6  # of class 0 over all nodes
    tilted = torch.tensor([3 * (1 + 0.05 * share), 2 * (1 + 0.05 * (1 - share))])
    ours = without_prior(probabilities(graph)[1:4], tilted / tilted.sum())
    assert ours[:, 0].tolist() == pytest.approx(expected, abs=1e-6)


def test_class_masses_are_in_proportion_to_the_smoothed_shares() -> None:
    graph = two_components()
    harmonic, _ = dense_harmonic(graph)
    weights = LabelPropagation(Shape.of(graph)).class_weights(graph, harmonic)
    counts = np.bincount(graph.train_labels, minlength=3)
    masses = (weights * harmonic).sum(0)
    np.testing.assert_allclose(masses / masses.sum(), (counts + 1) / (counts + 1).sum())


@either_masses
def test_nodes_that_no_label_reaches_get_the_prior(mass_normalisation: bool) -> None:
    graph = graph_of([(0, 1), (1, 2), (3, 4)], [0, 0, 1, 1, 1, 0, 1], [0, 2, 6])  # 6 is isolated and labelled
    found = probabilities(graph, mass_normalisation=mass_normalisation)
    assert torch.equal(found[3], found[4])
    assert torch.equal(found[3], found[5])
    middle = (2 / 5, 3 / 5) if mass_normalisation else (1 / 2, 1 / 2)  # the node between both labels
    prior = torch.tensor([2 * (1 + 0.05 * (1 + middle[0]) / 4), 3 * (1 + 0.05 * (2 + middle[1]) / 4)])
    torch.testing.assert_close(found[3], prior / prior.sum())


@pytest.mark.parametrize(("frequent", "rare"), [*permutations(range(3), 2)])
def test_a_tie_goes_to_the_class_with_more_labels_whatever_its_number(frequent: int, rare: int) -> None:
    labels = [frequent, rare, rare, frequent, 2]  # a - x - b, and another label of a far from them
    found = probabilities(graph_of([(0, 1), (1, 2)], labels, [0, 2, 3]), mass_normalisation=False)
    assert int(found[1].argmax()) == frequent
    assert found[1, frequent] - found[1, rare] < 2 * PRIOR_SHARE


@pytest.mark.parametrize("found_more_often", [0, 1])
def test_a_tie_of_equally_many_labels_goes_to_the_class_found_more_often(found_more_often: int) -> None:
    other = 1 - found_more_often
    edges = [(0, 1), (1, 2), (3, 4), (3, 5), (3, 6), (7, 8)]  # a - x - b; three nodes that hang on a, one on b
    labels = [found_more_often, 0, other, *[found_more_often] * 4, other, other]
    found = probabilities(graph_of(edges, labels, [0, 2, 3, 7]), mass_normalisation=False)
    assert int(found[1].argmax()) == found_more_often
    assert abs(float(found[1, 0] - found[1, 1])) < PRIOR_SHARE


@either_masses
def test_training_nodes_keep_their_label(mass_normalisation: bool) -> None:
    graph = two_components()
    found = probabilities(graph, mass_normalisation=mass_normalisation)
    assert torch.equal(found.argmax(1)[graph.train], graph.labels[graph.train])
    assert found[graph.train].amax(1).min() > 1 - PRIOR_SHARE


@either_masses
@pytest.mark.parametrize("unseen", [0, 1, 2])
def test_a_class_without_a_label_never_wins(unseen: int, mass_normalisation: bool) -> None:
    first, second = (c for c in range(3) if c != unseen)
    edges = [(0, 1), (1, 2), (2, 3), (4, 5)]
    graph = graph_of(edges, [first, unseen, unseen, second, unseen, unseen], [0, 3])
    found = probabilities(graph, mass_normalisation=mass_normalisation)
    assert not (found.argmax(1) == unseen).any()


@either_masses
def test_labels_everywhere_leave_nothing_to_solve(mass_normalisation: bool) -> None:
    graph = graph_of([(0, 1), (1, 2)], [1, 0, 1], [0, 1, 2])
    assert probabilities(graph, mass_normalisation=mass_normalisation).argmax(1).tolist() == [1, 0, 1]
