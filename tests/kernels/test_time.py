"""Time grows with edges and not with the highest degree: a star of 10^5 leaves takes a step as quickly as a ring."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn.paper import PaperConfGCN

NODES = 100_001


def graph_of(sources: np.ndarray) -> Graph:
    """Node i joined to its source."""
    nodes = np.arange(NODES)
    features = csr_matrix((np.ones(NODES), (nodes, nodes % 5)), shape=(NODES, 5))
    return Graph.build(np.stack([sources, nodes], axis=1), features, nodes % 3, train=[0, 1, 2])


def seconds_of_a_step(graph: Graph) -> float:
    """The quickest of several, in time of the processor."""
    method = PaperConfGCN(Shape.of(graph), normalisation="softmax", hidden_dim=4, dropout=0.5)
    spent = []
    for _ in range(5):
        before = time.process_time()
        terms = method.loss_terms(graph, method(graph))
        sum(term.value() for term in terms.values()).backward()
        spent.append(time.process_time() - before)
    return min(spent)


@pytest.mark.usefixtures("each_kernels")
def test_a_hub_costs_no_more_than_the_same_edges_spread_evenly() -> None:
    star, ring = graph_of(np.zeros(NODES, int)), graph_of((np.arange(NODES) - 1) % NODES)
    assert star.degrees.max() == NODES - 1
    assert ring.degrees.max() == 2
    assert seconds_of_a_step(star) < 10 * seconds_of_a_step(ring)  # work by degree would take 10^5 times as long
