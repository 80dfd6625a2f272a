"""A trained method and what a run records of it, by one training or by a search."""

from __future__ import annotations

from dataclasses import replace

import pytest

from confgcn.evaluation.metrics import accuracy
from confgcn.exceptions import ResourceError, UsageError
from confgcn.graph import Graph
from confgcn.io import memory
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.runs.fitted import check_influence, check_memory_of_methods, fit_by_search, searches
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.settings import Candidate, RunSettings, make_method, resolve
from confgcn.runs.train import fit_in_memory


def settings(**overrides: object) -> RunSettings:
    chosen = resolve("confgcn", "propagated", "", {"epochs": 2, "evaluate_every": 1, **overrides})
    return replace(chosen, candidates=(Candidate("summed", {}), Candidate("own", {"channels": "own"})))


def test_the_validation_accuracy_is_that_of_the_consensus(small_graph: Graph) -> None:
    fitted = fit_by_search(small_graph, settings(), [], seed=0, notify=[].append)
    nodes = small_graph.validation
    assert fitted.best is not None
    expected = accuracy(fitted.prediction.logits[nodes], small_graph.labels[nodes])
    assert fitted.best["validation_accuracy"] == expected
    assert fitted.held_out is None
    assert fitted.record is not None
    assert len(fitted.record["search"]) >= 2


def test_without_validation_nodes_labels_are_held_out_in_turn_with_a_notice(small_graph: Graph) -> None:
    notices: list[str] = []
    unsplit = replace(small_graph, validation=small_graph.validation[:0])
    fitted = fit_by_search(unsplit, settings(), [], seed=0, notify=notices.append)
    assert fitted.held_out is not None
    assert [text for text in notices if text.startswith("no validation nodes")]


def test_the_memory_of_all_candidates_is_counted(small_graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    one = sum(weight.nbytes for weight in make_method(small_graph, settings()).parameters())
    monkeypatch.setattr(memory, "available_memory", lambda: 6 * one)  # training takes five copies of one model
    check_memory_of_methods(small_graph, settings(search=False))
    with pytest.raises(ResourceError, match=r"of 4 candidates.*--set search=false"):
        check_memory_of_methods(small_graph, settings())
    monkeypatch.setattr(memory, "available_memory", lambda: 9 * one)  # both candidates, each may be trained twice
    check_memory_of_methods(small_graph, settings())


def test_a_candidate_with_wrong_settings_is_refused(small_graph: Graph) -> None:
    wrong = replace(settings(), candidates=(Candidate("wrong", {"order": -1}),))
    with pytest.raises(UsageError, match="candidate wrong"):
        check_memory_of_methods(small_graph, wrong)


def test_learned_influence_is_refused_where_no_search_trains_models_to_learn_it_from() -> None:
    check_influence(settings(influence="learned"), searching=True)
    for influence in ("chosen", "uniform"):
        check_influence(settings(influence=influence), searching=False)
    check_influence(resolve("gcn", "reference", "cora", {}), searching=False)
    with pytest.raises(UsageError, match=r"influence = 'learned'.*one model is trained.*search = true"):
        check_influence(settings(influence="learned"), searching=False)


@pytest.mark.parametrize("reason", [{"search": False}, {"select": "last", "stop": "never"}], ids=str)
def test_one_model_with_learned_influence_is_not_trained_in_memory(
    small_graph: Graph, reason: dict[str, object]
) -> None:
    unsplit = replace(small_graph, validation=small_graph.validation[:0])
    request = RunRequest(unsplit, preset="propagated", overrides={"epochs": 2, "influence": "learned", **reason})
    with pytest.raises(UsageError, match="one model is trained"):
        fit_in_memory(unsplit, request.settings(), run_config(request), notify=[].append)


def test_a_search_needs_labels_to_choose_by(small_graph: Graph) -> None:
    unsplit = replace(small_graph, validation=small_graph.validation[:0])
    assert searches(small_graph, settings())
    assert searches(unsplit, settings())
    assert not searches(unsplit, settings(select="last", stop="never"))
    assert not searches(small_graph, settings(search=False))


def test_without_labels_to_choose_by_one_model_is_trained(small_graph: Graph) -> None:
    unsplit = replace(small_graph, validation=small_graph.validation[:0])
    request = RunRequest(unsplit, preset="propagated", overrides={"epochs": 2, "select": "last", "stop": "never"})
    run = fit_in_memory(unsplit, request.settings(), run_config(request), notify=[].append)
    assert isinstance(run.method, PropagatedConfGCN)
    assert len(run.history) == 2
