"""DeepWalk: its objective against loops, and its embeddings beside those of gensim."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.graph.walks import random_walks
from confgcn.models.base import Shape
from confgcn.models.baselines.deepwalk import DeepWalk
from confgcn.models.prior import PRIOR_SHARE
from confgcn.training.loop import TrainingLoop
from confgcn.training.recipe import Recipe
from confgcn.training.seed import seeded

CLIQUE = 12


@pytest.fixture
def two_cliques() -> Graph:
    """Of twelve nodes each, joined by one edge."""
    inside = [(i + first, j + first) for first in (0, CLIQUE) for i, j in combinations(range(CLIQUE), 2)]
    labels = [0] * CLIQUE + [1] * CLIQUE
    return Graph.build([*inside, (0, CLIQUE)], np.eye(2 * CLIQUE), labels, train=[1, CLIQUE + 1])


def quick(graph: Graph, **settings: float) -> DeepWalk:
    chosen = {"walks_per_node": 2, "walk_length": 6, "embedding_dim": 5, **settings}
    return DeepWalk(Shape.of(graph), **chosen)


def minus_log_sigmoid(x: float) -> float:
    return math.log1p(math.exp(-x))


def separation(embedding: Tensor) -> float:
    """The mean cosine of two nodes of one clique minus that of two nodes of both."""
    direction = functional.normalize(embedding, dim=1)
    cosine = direction @ direction.T
    clique = torch.arange(2 * CLIQUE) // CLIQUE
    is_same = clique[:, None] == clique
    is_pair = ~torch.eye(2 * CLIQUE, dtype=torch.bool)
    return (cosine[is_same & is_pair].mean() - cosine[~is_same].mean()).item()


@pytest.mark.parametrize("window", [1, 3, 9])
def test_the_objective_equals_loops_over_positions_and_negatives(six_nodes: Graph, window: int) -> None:
    embedding, context = torch.randn(2, 6, 3, dtype=torch.float64)
    walks = torch.tensor([[0, 1, 2, 3, 1], [4, 0, 4, 0, 1], [5, 5, 5, 5, 5]])
    negatives = torch.tensor([2, 2, 5, 0])
    total = 0.0
    for walk in walks.tolist():
        for i, node in enumerate(walk):
            for j, other in enumerate(walk):
                if 0 < abs(i - j) <= window:
                    noise = [minus_log_sigmoid(-(embedding[node] @ context[n]).item()) for n in negatives.tolist()]
                    total += minus_log_sigmoid((embedding[node] @ context[other]).item()) + 7 * sum(noise) / len(noise)
    method = quick(six_nodes, window=window, num_negatives=7)
    assert method.skip_gram_loss(embedding, context, walks, negatives).item() == pytest.approx(total / 15, rel=1e-10)


@pytest.mark.filterwarnings("ignore")  # gensim's are not ours
@pytest.mark.parametrize("seed", [0, 1])
def test_cliques_come_apart_as_they_do_with_gensim(two_cliques: Graph, seed: int) -> None:
    word2vec = pytest.importorskip("gensim.models", exc_type=ImportError).Word2Vec
    torch.manual_seed(seed)
    method = quick(two_cliques, walks_per_node=10, num_passes=5, walk_length=20, embedding_dim=16, batch_walks=8)
    ours = separation(method.skip_gram(two_cliques))
    walks = random_walks(two_cliques.neighbours, torch.arange(2 * CLIQUE).repeat(10), length=20)
    sentences = [[str(node) for node in walk] for walk in walks.tolist()]
    options = {"vector_size": 16, "window": 5, "sg": 1, "hs": 0, "negative": 5, "min_count": 0, "sample": 0}
    vectors = word2vec(sentences, **options, epochs=20, workers=1, seed=seed).wv
    theirs = separation(torch.tensor(np.stack([vectors[str(node)] for node in range(2 * CLIQUE)])))
    assert min(ours, theirs) > 0.6
    assert abs(ours - theirs) < 0.3


def test_embeddings_are_scaled_by_column(small_graph: Graph) -> None:
    method = quick(small_graph)
    method.setup(small_graph)
    torch.testing.assert_close(method.embedding.mean(0), torch.zeros(5), rtol=0, atol=1e-5)
    torch.testing.assert_close(method.embedding.var(0, correction=0), torch.ones(5), rtol=1e-4, atol=0)


def test_logits_are_a_regression_on_the_embeddings_mixed_with_the_prior(six_nodes: Graph) -> None:
    method = quick(six_nodes)
    method.setup(six_nodes)
    torch.nn.init.normal_(method.output.bias)
    found = (method.embedding @ method.output.weight + method.output.bias).softmax(1)
    probabilities = method(six_nodes).raw_probabilities
    reached = [0, 1, 2, 3, 4]  # 5 is isolated
    mixed = (1 - PRIOR_SHARE) * found[reached] + PRIOR_SHARE * probabilities[5]
    torch.testing.assert_close(probabilities[reached], mixed)


def test_nodes_that_no_label_reaches_get_the_prior() -> None:
    edges = [(0, 1), (1, 2), (3, 4), (4, 5)]
    graph = Graph.build(edges, np.eye(7), [0, 1, 1, 0, 0, 0, 0], train=[0, 1, 2])
    method = quick(graph)
    method.setup(graph)
    found = (method.embedding @ method.output.weight + method.output.bias).softmax(1)[:3].mean(0)
    prior = torch.tensor([2.0, 3.0]) * (1 + 0.05 * found)
    torch.testing.assert_close(method(graph).raw_probabilities[3:], (prior / prior.sum()).expand(4, 2))


def test_embeddings_stay_fixed_while_the_regression_is_trained(small_graph: Graph) -> None:
    methods = []
    for epochs in (1, 20):
        with seeded(0):
            methods.append(quick(small_graph))
            TrainingLoop(methods[-1], small_graph, Recipe(epochs=epochs)).fit()
    short, long = methods
    assert short.embedding.any()
    assert torch.equal(short.embedding, long.embedding)
    assert not torch.equal(short.output.weight, long.output.weight)


def test_only_the_weights_of_the_regression_decay(six_nodes: Graph) -> None:
    method = DeepWalk(Shape.of(six_nodes), weight_decay=0.1)
    decayed, others = method.parameter_groups()
    assert decayed["weight_decay"] == 0.1
    assert [id(parameter) for parameter in decayed["params"]] == [id(method.output.weight)]
    assert [id(parameter) for parameter in others["params"]] == [id(method.output.bias)]
    assert "weight_decay" not in others


def test_a_single_node_is_embedded_at_zero() -> None:
    graph = Graph.build([], np.eye(1), [0], train=[0])
    method = DeepWalk(Shape.of(graph), walks_per_node=1)
    method.setup(graph)
    assert not method.embedding.any()
