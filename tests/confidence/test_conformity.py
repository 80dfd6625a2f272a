"""Scores of labels against sums written out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from confgcn.confidence.conformity import (
    RANK_PENALTY,
    Score,
    adaptive_scores,
    label_scores,
    node_draws,
    rank_penalty,
)
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph

PROBABILITIES = torch.tensor([[0.5, 0.2, 0.3], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [1.0, 0, 0]])


@pytest.fixture
def path() -> Graph:
    """0 - 1 - 2, and 3 alone."""
    return Graph.build([(0, 1), (1, 2)], np.eye(4), [0, 1, 2, 0])


def test_adaptive_scores_add_up_what_is_likelier_and_a_share_of_the_own() -> None:
    found = adaptive_scores(PROBABILITIES[:2], torch.tensor([0.0, 0.5], dtype=torch.float64))
    expected = torch.tensor([[0.0, 0.8, 0.5], [0.95, 0.3, 0.75]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, atol=1e-7, rtol=0)


def test_the_penalty_grows_with_the_rank() -> None:
    expected = RANK_PENALTY * torch.tensor([[0.0, 2, 1], [2, 0, 1]])
    torch.testing.assert_close(rank_penalty(PROBABILITIES[:2]), expected)


def test_the_scores_by_name(path: Graph) -> None:
    own = adaptive_scores(PROBABILITIES, node_draws(path, 5))
    scores = {name: label_scores(path, PROBABILITIES, name, seed=5) for name in ("aps", "raps", "diffused")}
    torch.testing.assert_close(label_scores(path, PROBABILITIES, "threshold"), 1 - PROBABILITIES.double())
    torch.testing.assert_close(scores["aps"], own)
    torch.testing.assert_close(scores["raps"], own + rank_penalty(PROBABILITIES))
    around = torch.stack([own[1], (own[0] + own[2]) / 2, own[1], own[3]])
    torch.testing.assert_close(scores["diffused"], (own + around) / 2)


@pytest.mark.parametrize("score", ["aps", "diffused"])
def test_a_node_keeps_its_draw_wherever_it_stands(path: Graph, score: Score) -> None:
    order = torch.tensor([2, 3, 0, 1])
    twin = Graph.build([(2, 3), (3, 0)], np.eye(4), [2, 0, 0, 1])
    twin = replace(twin, node_ids=order)
    found = label_scores(twin, PROBABILITIES[order], score)
    torch.testing.assert_close(found, label_scores(path, PROBABILITIES, score)[order])
    assert not torch.allclose(found, label_scores(twin, PROBABILITIES[order], score, seed=1))


def test_the_default_stream_is_not_touched(path: Graph) -> None:
    before = torch.get_rng_state()
    label_scores(path, PROBABILITIES, "aps")
    assert torch.equal(torch.get_rng_state(), before)


def test_what_can_not_be_scored(path: Graph) -> None:
    with pytest.raises(UsageError, match="unknown score 'asp': did you mean 'aps'"):
        label_scores(path, PROBABILITIES, "asp")  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"expected \(4, 3\).* got \(3, 3\)"):
        label_scores(path, PROBABILITIES[:3], "aps")


def test_each_score_in_numbers(path: Graph) -> None:
    draws = node_draws(path, 0)
    assert draws.tolist() == torch.rand(4, generator=torch.Generator().manual_seed(0), dtype=torch.float64).tolist()
    u = float(draws[0])
    aps = [0.5 * u, 0.8 + 0.2 * u, 0.5 + 0.3 * u]
    other = float(draws[1])
    around = [0.9 + 0.1 * other, 0.6 * other, 0.6 + 0.3 * other]  # of node 1, the only neighbour of 0
    expected = {
        "aps": aps,
        "raps": [aps[0], aps[1] + 0.2, aps[2] + 0.1],
        "diffused": [(a + b) / 2 for a, b in zip(aps, around, strict=True)],
        "threshold": [0.5 + 1e-9 * u, 0.8 + 1e-9 * u, 0.7 + 1e-9 * u],
    }
    for score, values in expected.items():
        found = label_scores(path, PROBABILITIES.double(), score)[0].tolist()
        assert found == pytest.approx(values, abs=1e-7)
    ties = label_scores(path, torch.full((4, 3), 0.5), "threshold") - 0.5
    assert ties[:, 0].tolist() == pytest.approx((1e-9 * draws).tolist(), rel=1e-4)


def test_a_graph_of_another_shape_is_refused(path: Graph) -> None:
    with pytest.raises(DataError, match=r"expected \(4, 3\), a row per node and a column per class, got \(4, 2\)"):
        label_scores(path, PROBABILITIES[:, :2], "threshold")


def test_ids_beyond_the_number_of_nodes_have_draws_of_their_own(path: Graph) -> None:
    part = replace(path, node_ids=torch.tensor([9, 2, 4, 0]))
    whole = torch.rand(10, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    assert torch.equal(node_draws(part, 3), whole[[9, 2, 4, 0]])
