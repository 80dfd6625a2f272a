"""The search for settings: which candidates are trained, which are chosen, and with which shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from confgcn.evaluation.logit_scaling import fit_logit_scaling
from confgcn.exceptions import DivergedError
from confgcn.graph import Graph
from confgcn.runs.result_notices import label_losses, mean_and_error
from confgcn.runs.search import Influence, Search, SearchResult, Trained, Trial, calibrated, greedy_shares, train_all
from confgcn.runs.settings import Candidate, RunSettings, resolve

OWN = Candidate("own", {"channels": "own"})
SUMMED = Candidate("summed", {"order": 2})
LINEAR = Candidate("linear", {"num_layers": 1})


def settings_with(*candidates: Candidate, **overrides: object) -> RunSettings:
    settings = resolve("confgcn", "propagated", "", {"epochs": 2, "evaluate_every": 1, **overrides})
    return replace(settings, candidates=candidates)


def always(label: int, count: int, probability: float = 0.9) -> Tensor:
    """Two classes: this label has the probability for each of so many nodes."""
    rows = torch.full((count, 2), 1.0 - probability, dtype=torch.double)
    rows[:, label] = probability
    return rows


def test_opposite_members_share_equally() -> None:
    members = [always(0, 2), always(1, 2)]
    assert greedy_shares(members, torch.tensor([0, 1]), [0, 1]) == {0: 0.5, 1: 0.5}


def test_a_member_that_is_right_twice_as_often_has_twice_the_share() -> None:
    members = [always(0, 3), always(1, 3)]
    assert greedy_shares(members, torch.tensor([0, 0, 1]), [0, 1]) == {0: pytest.approx(2 / 3), 1: pytest.approx(1 / 3)}


def test_a_member_that_adds_nothing_has_no_share() -> None:
    members = [always(0, 2), always(0, 2), always(1, 2, 0.6)]
    assert greedy_shares(members, torch.tensor([0, 0]), [0, 1, 2]) == {0: 1.0}


def test_shares_are_of_the_given_members_only() -> None:
    members = [always(0, 2), always(0, 2, 0.6), always(1, 2)]
    assert greedy_shares(members, torch.tensor([0, 0]), [1, 2]) == {1: 1.0}


def test_a_candidate_that_diverges_is_left_out() -> None:
    trials = [Trial(number, 2, LINEAR) for number in range(2)]

    def train(trial: Trial) -> int:
        if trial.number == 0:
            raise DivergedError("training diverged")
        return trial.number

    assert train_all(train, trials) == [1]  # type: ignore[arg-type, comparison-overlap]
    with pytest.raises(DivergedError, match="training diverged"):
        train_all(train, trials[:1])  # type: ignore[arg-type]


def test_a_candidate_keeps_what_the_user_has_set() -> None:
    settings = resolve("confgcn", "propagated", "", {"hidden_dim": 32, "num_layers": 1})
    assert len(settings.candidates) > 5
    for candidate in settings.candidates:
        applied = candidate.applied_to(settings)
        assert (applied.model["hidden_dim"], applied.model["num_layers"]) == (32, 1)
        assert not {"hidden_dim", "num_layers"} & candidate.changes.keys()


def test_the_display_counts_candidates_and_names_their_influence() -> None:
    assert Trial(2, 16, LINEAR).title == "candidate 3 of 16: linear"
    assert Trial(12, 13, LINEAR, "learned").title == "candidate 13 of 13: linear, learned influence"


def searched(graph: Graph, influence: str, confidence: Mapping[str, float]) -> SearchResult:
    """Of untrained models that predict every label correctly with this confidence, by the name of their trial."""
    right = torch.nn.functional.one_hot(graph.labels[graph.validation], graph.num_classes).float()
    right[0] = right[0].roll(1)  # one error: otherwise every temperature would be zero
    return searched_among(graph, influence, lambda trial: _noisy(right * confidence[trial.name]))


def searched_among(graph: Graph, influence: str, logits: Callable[[Trial], Tensor]) -> SearchResult:
    """Of untrained models with these logits of the validation nodes."""
    search = Search(graph, settings_with(SUMMED, OWN, influence=influence), seed=0)

    def train(trial: Trial) -> Trained:
        settings, found = search.settings_of(trial), logits(trial)
        return Trained(trial, settings.model, search.new_method(trial, settings), [], {"epoch": 1}, found)

    return search.run(train)


def _noisy(logits: Tensor) -> Tensor:
    """With noise of size one: confidence is the ratio of signal to noise, whatever the temperature."""
    return logits + torch.randn(logits.shape, generator=torch.Generator().manual_seed(0))


def test_uniform_influence_stays_where_learned_influence_is_worse(small_graph: Graph) -> None:
    found = searched(small_graph, "chosen", {"summed": 3.0, "own": 1.0, "summed, learned influence": 0.5})
    assert found.record["influence"] == {
        "tried": True,
        "learned_share": 0.0,
        "log_loss": found.record["influence"]["log_loss_uniform"],
        "log_loss_uniform": found.record["influence"]["log_loss_uniform"],
    }
    assert [member.influence for member in found.method.members] == ["uniform"]


def test_learned_influence_is_chosen_where_it_is_better(small_graph: Graph) -> None:
    found = searched(small_graph, "chosen", {"summed": 2.0, "own": 1.0, "summed, learned influence": 6.0})
    influence = found.record["influence"]
    assert influence["learned_share"] == 1.0
    assert influence["log_loss"] < influence["log_loss_uniform"]
    assert [member.influence for member in found.method.members] == ["uniform", "learned"]
    assert found.method.shares.tolist() == [0.0, 1.0]  # the first one only teaches


@pytest.mark.parametrize(("worse", "size", "is_used"), [(3, 2.0, False), (2, 1.0, True)])
def test_learned_influence_is_used_where_it_is_better_by_a_standard_error(
    small_graph: Graph, worse: int, size: float, is_used: bool
) -> None:
    """It predicts five labels better and some worse, by so much."""
    labels = small_graph.labels[small_graph.validation]
    signal = torch.nn.functional.one_hot(labels, small_graph.num_classes).float()
    signal[0] = signal[0].roll(1)
    uniform, own = _noisy(3.0 * signal), _noisy(signal)
    learned, changes = uniform.clone(), torch.tensor([size] * 5 + [-size] * worse)
    nodes = torch.arange(1, 1 + len(changes))
    learned[nodes, labels[nodes]] += changes
    losses, others = (label_losses(calibrated(logits, labels), labels) for logits in (learned, uniform))
    gain, error = mean_and_error(others - losses)
    assert gain > 0
    assert (gain > error) is is_used

    def logits(trial: Trial) -> Tensor:
        return learned if trial.influence == "learned" else {"summed": uniform, "own": own}[trial.name]

    found = searched_among(small_graph, "chosen", logits)
    assert found.record["influence"]["tried"]
    assert found.record["influence"]["learned_share"] == float(is_used)
    assert [member.influence for member in found.method.members] == ["uniform", *["learned"] * is_used]
    forced = searched_among(small_graph, "learned", logits).record["influence"]
    assert forced["log_loss"] < forced["log_loss_uniform"]


@pytest.mark.filterwarnings("error")
def test_one_validation_label_has_no_standard_error_and_no_warning(small_graph: Graph) -> None:
    graph = replace(small_graph, validation=small_graph.validation[:1])
    found = searched(graph, "chosen", {"summed": 3.0, "own": 1.0, "summed, learned influence": 6.0})
    assert found.record["influence"]["learned_share"] == 0.0
    assert {member.influence for member in found.method.members} == {"uniform"}


@pytest.mark.parametrize("influence", ["chosen", "learned"])
def test_a_search_whose_retrainings_all_diverge_ends_with_the_uniform_consensus(
    small_graph: Graph, influence: str
) -> None:
    confidence, diverged = {"summed": 3.0, "own": 1.0}, []
    labels = small_graph.labels[small_graph.validation]

    def logits(trial: Trial) -> Tensor:
        if trial.influence == "learned":
            diverged.append(trial.name)
            raise DivergedError("training diverged")
        signal = torch.nn.functional.one_hot(labels, small_graph.num_classes).float()
        return _noisy(signal * confidence[trial.name])

    found = searched_among(small_graph, influence, logits)
    assert diverged == ["summed, learned influence"]
    expected = searched_among(small_graph, "uniform", logits)
    assert found.record == expected.record
    assert found.method.shares.tolist() == expected.method.shares.tolist()
    assert {member.influence for member in found.method.members} == {"uniform"}


def test_a_model_that_did_not_teach_is_not_combined_with_those_that_were_taught(
    small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All models with uniform influence in the consensus teach: another one would change the influences."""
    choices: list[tuple[list[int], dict[int, float]]] = []

    def recorded(probabilities: Sequence[Tensor], labels: Tensor, among: Sequence[int]) -> dict[int, float]:
        choices.append((list(among), greedy_shares(probabilities, labels, among)))
        return choices[-1][1]

    monkeypatch.setattr("confgcn.runs.search.greedy_shares", recorded)
    found = searched(small_graph, "chosen", {"summed": 3.0, "own": 1.0, "summed, learned influence": 5.0})
    (_, teachers), (among, _) = choices
    assert list(teachers) == [0]
    assert among == [0, 2]
    learned = [member for member in found.method.members if member.influence == "learned"]
    assert learned
    assert [model.channels for model in learned[0].teacher.models] == ["summed"]


def test_learned_influence_can_be_forced(small_graph: Graph) -> None:
    found = searched(small_graph, "learned", {"summed": 3.0, "own": 1.0, "summed, learned influence": 0.5})
    assert found.record["influence"]["learned_share"] == 1.0
    assert found.record["influence"]["log_loss"] > found.record["influence"]["log_loss_uniform"]


@pytest.mark.parametrize("influence", ["chosen", "learned", "uniform"])
def test_candidates_that_are_trained_once_can_be_combined_for_every_influence(
    small_graph: Graph, influence: Influence
) -> None:
    settings = settings_with(SUMMED, OWN, hidden_dim=4)
    search = Search(small_graph, settings, seed=0)
    found = search.combine(search.train_candidates(), influence)
    own_settings = replace(settings, model={**settings.model, "influence": influence})
    expected = Search(small_graph, own_settings, seed=0).run()
    assert found.record == expected.record
    assert found.best == expected.best
    assert found.method.state_dict().keys() == expected.method.state_dict().keys()
    assert all(map(torch.equal, found.method.state_dict().values(), expected.method.state_dict().values()))
    assert torch.equal(found.method(small_graph).logits, expected.method(small_graph).logits)


def test_members_have_the_temperatures_and_offsets_that_suit_the_validation_labels(small_graph: Graph) -> None:
    search = Search(small_graph, settings_with(SUMMED, OWN, influence="uniform", hidden_dim=4), seed=0)
    candidates = search.train_candidates(with_learned=False)
    method = search.combine(candidates, "uniform").method
    labels = small_graph.labels[small_graph.validation]
    assert list(method.members) == [candidates.uniform[i].method for i in candidates.shares]
    for number, i in enumerate(candidates.shares):
        scaling = fit_logit_scaling(candidates.uniform[i].logits, labels)
        assert float(method.inverse_temperatures[number]) == pytest.approx(scaling.inverse_temperature)
        torch.testing.assert_close(method.offsets[number], scaling.offsets.float())
    assert method.offsets.abs().max() > 0


def test_the_consensus_of_a_search_has_the_recorded_log_loss(small_graph: Graph) -> None:
    found = Search(small_graph, settings_with(SUMMED, OWN, influence="uniform", hidden_dim=4), seed=0).run()
    nodes = small_graph.validation
    logits = found.method.predict(small_graph.training_view(), nodes).logits
    loss = float(torch.nn.functional.cross_entropy(logits, small_graph.labels[nodes]))
    assert found.record["influence"]["log_loss"] == pytest.approx(loss, rel=1e-4)


def test_learned_influence_is_not_tried_where_uniform_is_set(small_graph: Graph) -> None:
    found = searched(small_graph, "uniform", {"summed": 3.0, "own": 1.0})
    assert not found.record["influence"]["tried"]
    assert [each["influence"] for each in found.record["search"]] == ["uniform", "uniform"]


def test_the_record_has_the_settings_of_every_candidate(small_graph: Graph) -> None:
    found = searched(small_graph, "uniform", {"summed": 3.0, "own": 1.0})
    assert [each["settings"] for each in found.record["search"]] == [{"order": 2}, {"channels": "own"}]
    assert sum(each["share"] for each in found.record["search"]) == pytest.approx(1.0)


def test_a_search_does_not_depend_on_the_random_state_of_the_caller(small_graph: Graph) -> None:
    settings = settings_with(SUMMED, OWN)
    first = Search(small_graph, settings, seed=1).run()
    torch.manual_seed(99)
    state = torch.get_rng_state()
    again = Search(small_graph, settings, seed=1).run()
    assert torch.equal(torch.get_rng_state(), state)
    assert first.record == again.record
    assert all(torch.equal(value, again.method.state_dict()[name]) for name, value in first.method.state_dict().items())
