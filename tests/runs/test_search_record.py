"""Whether edges help, oppose or say nothing, from held-out predictions with and without them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.runs.search import Trained, Trial
from confgcn.runs.search_record import edges_record, influence_record, uses_edges
from confgcn.runs.settings import Candidate

LABELS = torch.tensor([0, 1] * 10)
GOOD, POOR = 0.9, 0.6  # probabilities of the right label
SHAPE = Shape(4, 3, 2)


def trained(influence: str = "uniform", **options: Any) -> Trained:
    trial = Trial(0, 1, Candidate("any", options), influence)  # type: ignore[arg-type]
    return Trained(trial, {}, PropagatedConfGCN(SHAPE, **options), [], None, torch.zeros(0))


def right(*probability: float) -> Tensor:
    """The probability of the right label, of every label or of each in turn; two classes."""
    of_label = torch.tensor(probability, dtype=torch.double).repeat(len(LABELS) // len(probability))
    of_second = torch.where(LABELS == 1, of_label, 1 - of_label)
    return torch.stack([1 - of_second, of_second], 1)


def record(graph: Graph, with_edges: Tensor, without: Tensor) -> dict[str, Any]:
    found = edges_record(graph, [trained(), trained(channels="own")], [with_edges, without], LABELS)
    assert found is not None
    return found


def graph_of(mismatch: float) -> Graph:
    return block_model(100, num_classes=2, mismatch=mismatch, per_class=40, seed=0, validation=10, test=10)


def test_edges_help_where_neighbours_have_equal_labels() -> None:
    found = record(graph_of(0.1), right(GOOD), right(POOR))
    assert found["code"] == "help"
    assert found["compatibility_diagonal"] > 0.5
    assert found["log_loss_with"] == pytest.approx(-torch.tensor(GOOD).log().item())
    assert found["log_loss_without"] == pytest.approx(-torch.tensor(POOR).log().item())
    assert found["held_out_labels"] == 20


def test_edges_oppose_where_neighbours_have_different_labels_and_the_model_uses_that() -> None:
    found = record(graph_of(0.9), right(GOOD), right(POOR))
    assert found["code"] == "oppose"
    assert found["compatibility_diagonal"] < 0.5


@pytest.mark.parametrize("mismatch", [0.1, 0.9])
@pytest.mark.parametrize("with_edges", [(POOR,), (GOOD, 0.49)], ids=["worse", "within two standard errors"])
def test_edges_say_nothing_unless_they_are_clearly_better(mismatch: float, with_edges: tuple[float, ...]) -> None:
    found = record(graph_of(mismatch), right(*with_edges), right(POOR))
    assert found["code"] == "nothing"
    assert found["log_loss_without"] - found["log_loss_with"] <= 2 * found["standard_error"] + 1e-12


def test_the_best_candidates_of_both_kinds_are_compared() -> None:
    members = [trained(), trained(order=2), trained(channels="own"), trained(channels="own", num_layers=1)]
    found = edges_record(graph_of(0.1), members, [right(p) for p in (0.5, 0.8, 0.7, 0.6)], LABELS)
    assert found is not None
    assert found["log_loss_with"] == pytest.approx(-torch.tensor(0.8).log().item())
    assert found["log_loss_without"] == pytest.approx(-torch.tensor(0.7).log().item())


def test_without_candidates_of_both_kinds_nothing_is_known() -> None:
    assert edges_record(graph_of(0.1), [trained()], [right(GOOD)], LABELS) is None
    assert edges_record(graph_of(0.1), [trained(channels="own")], [right(GOOD)], LABELS) is None


def test_a_candidate_with_labels_around_the_node_uses_edges() -> None:
    assert uses_edges(trained(channels="own", label_channel=True).method)
    assert uses_edges(trained(channels="apart").method)
    assert not uses_edges(trained(channels="own").method)


def test_the_share_of_learned_influence_is_the_sum_over_its_candidates() -> None:
    members = [trained(), trained("learned"), trained("learned")]
    rows = [right(POOR), right(GOOD), right(GOOD)]
    found = influence_record(members, rows, {0: 0.5, 1: 0.25, 2: 0.25}, {0: 1.0}, LABELS)
    assert found == {
        "tried": True,
        "learned_share": 0.5,
        "log_loss": pytest.approx(-torch.tensor(0.75).log().item()),
        "log_loss_uniform": pytest.approx(-torch.tensor(POOR).log().item()),
    }
