"""The search without validation nodes: training labels are held out in turn, and all are trained on in the end."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.runs.crossed_search import SHORTLIST, crossed_search, shortlist
from confgcn.runs.search import Search, Trained, Trial
from confgcn.runs.settings import Candidate, RunSettings, resolve
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop

CANDIDATES = (
    Candidate("summed", {}),
    Candidate("apart", {"channels": "apart"}),
    Candidate("own", {"channels": "own"}),
)


class Titles(Callback):
    """The titles of the trainings."""

    def __init__(self) -> None:
        self.titles: list[str] = []

    def on_start(self, loop: TrainingLoop) -> None:
        self.titles.append(loop.title)


def settings_with(*candidates: Candidate, influence: str = "chosen") -> RunSettings:
    settings = resolve("confgcn", "propagated", "", {"epochs": 3, "evaluate_every": 1, "influence": influence})
    return replace(settings, candidates=candidates)


@pytest.fixture
def unsplit() -> Graph:
    """Forty training labels, fewer than are divided, and no validation nodes."""
    graph = block_model(120, seed=1)
    return replace(graph, validation=graph.validation[:0])


def test_every_training_label_is_predicted_without_it(unsplit: Graph) -> None:
    found = crossed_search(unsplit, settings_with(*CANDIDATES), seed=0)
    assert found.held_out is not None
    is_trained = torch.zeros(unsplit.num_nodes, dtype=torch.bool).index_fill_(0, unsplit.train, True)
    assert bool(found.held_out.logits[is_trained].any(1).all())
    assert not found.held_out.logits[~is_trained].any()
    assert torch.allclose(found.held_out.logits[is_trained].exp().sum(1), torch.ones(len(unsplit.train)), atol=1e-5)


def test_the_same_seed_gives_the_same_predictions(unsplit: Graph) -> None:
    first, again = (crossed_search(unsplit, settings_with(*CANDIDATES), seed=3).held_out for _ in range(2))
    assert first is not None
    assert again is not None
    assert torch.equal(first.logits, again.logits)


@pytest.mark.parametrize("influence", ["chosen", "learned", "uniform"])
def test_influence_is_uniform(unsplit: Graph, influence: str) -> None:
    found = crossed_search(unsplit, settings_with(*CANDIDATES, influence=influence), seed=0)
    assert found.record["influence"]["tried"] is False
    assert {each["influence"] for each in found.record["search"]} == {"uniform"}


def test_candidates_are_trained_on_one_fold_then_cross_fitted_then_on_all_labels(unsplit: Graph) -> None:
    watching = Titles()
    crossed_search(unsplit, settings_with(*CANDIDATES[:1]), [watching], seed=0)
    folds = [f"candidate 2 of 2: summed, fold {number} of 5" for number in range(1, 6)]
    assert watching.titles == ["candidate 1 of 1: summed", *folds, "candidate 2 of 2: summed"]


def test_edges_are_evaluated_on_one_fold_where_only_candidates_with_edges_are_cross_fitted(
    unsplit: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("confgcn.runs.crossed_search.SHORTLIST", 1)
    found = crossed_search(unsplit, settings_with(*CANDIDATES), seed=0)
    assert len(found.record["search"]) == 1
    assert found.record["edges"]["held_out_labels"] == 8  # a fifth of 40


def test_the_best_candidates_of_the_fold_are_cross_fitted(small_graph: Graph) -> None:
    labels = small_graph.labels[small_graph.validation]
    search = Search(small_graph, settings_with(*CANDIDATES), seed=0)
    noise = torch.randn(len(labels), small_graph.num_classes)
    right = torch.nn.functional.one_hot(labels, small_graph.num_classes)
    signals = [0.0, 4.0, 1.0, 3.0, 2.0, 0.5]
    first = [
        Trained(Trial(number, 6, Candidate(str(signal), {})), {}, None, [], None, noise + signal * right)  # type: ignore[arg-type]
        for number, signal in enumerate(signals)
    ]
    chosen = shortlist(first, search.graph)
    assert [trial.name for trial in chosen] == ["4.0", "3.0", "2.0", "1.0"][:SHORTLIST]
    assert [trial.number for trial in chosen] == list(range(6, 6 + SHORTLIST))
    assert {trial.total for trial in chosen} == {6 + SHORTLIST}
