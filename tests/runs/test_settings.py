"""Presets: the published values, the fallback, and every way to get a name wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from confgcn.data.perturbations import add_edges_between_classes, flip_training_labels, shrink_validation_set
from confgcn.data.transforms import scale_features
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.confgcn.consensus import ConsensusConfGCN
from confgcn.models.confgcn.paper import PaperConfGCN
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.models.registry import METHODS
from confgcn.runs.settings import ANY, DataSettings, hyperparameters, preset_names, resolve

# c, dropout, gamma, L2, smooth, label, const, reg: the options the authors published for each data set
PUBLISHED = {
    "citeseer": (0.1, 0.3, 3, 0.1, 1, 0, 10, 1),
    "cora": (1, 0.8, 0.1, 0.01, 0, 1, 0, 1),
    "pubmed": (1, 0.555, 1, 0.1, 10, 1, 1, 1),
    "cora_ml": (1, 0.555, 10, 0.05, 0, 1, 1, 1),
}
TERMS = ("smooth", "label", "const", "reg")
KEYS = ("distance_offset", "dropout", "gamma", "doubled_l2", *(f"lambda_{term}" for term in TERMS))


@pytest.mark.parametrize("preset", ["paper", "released", "consensus", "propagated"])
def test_a_preset_of_confgcn_is_a_model_of_its_own(preset: str) -> None:
    settings = resolve("confgcn", preset, "cora", {})
    assert settings.method_class.__name__ == f"{preset.capitalize()}ConfGCN"
    assert 8 <= len(settings.model) <= 16


@pytest.mark.parametrize("dataset", PUBLISHED)
def test_released_has_the_published_options(dataset: str) -> None:
    settings = resolve("confgcn", "released", dataset, {})
    assert tuple(settings.model[key] for key in KEYS) == PUBLISHED[dataset]
    assert settings.settings_of == dataset
    assert (settings.model["hidden_dim"], settings.recipe.epochs, settings.recipe.learning_rate) == (16, 250, 0.01)


def test_a_graph_without_published_settings_uses_those_of_cora_ml() -> None:
    settings = resolve("confgcn", "released", "demo", {})
    assert (settings.preset, settings.settings_of) == ("released", "cora_ml")
    assert settings.model == resolve("confgcn", "released", "cora_ml", {}).model


@pytest.mark.parametrize("dataset", ["demo", *PUBLISHED])
def test_the_default_is_propagated_which_has_the_same_settings_for_every_graph(dataset: str) -> None:
    settings = resolve("confgcn", "default", dataset, {})
    assert (settings.preset, settings.settings_of) == ("propagated", ANY)
    assert settings.method_class is PropagatedConfGCN
    assert settings.model == hyperparameters(PropagatedConfGCN)().model_dump()
    assert (settings.recipe.search, settings.recipe.select) == (True, "best_calibrated_loss")
    assert settings.data.held_out == "divided"
    assert settings.candidates


def test_consensus_has_settings_for_any_graph() -> None:
    settings = resolve("confgcn", "consensus", "demo", {})
    assert (settings.preset, settings.settings_of) == ("consensus", ANY)
    assert settings.method_class is ConsensusConfGCN
    assert settings.model == hyperparameters(ConsensusConfGCN)().model_dump()
    assert settings.recipe.select == "best_validation_loss"


@pytest.mark.parametrize("dataset", PUBLISHED)
def test_consensus_differs_between_data_sets_by_few_numbers(dataset: str) -> None:
    general, own = (resolve("confgcn", "consensus", name, {}) for name in ("demo", dataset))
    assert own.settings_of == dataset
    differs = {name for name, value in own.model.items() if value != general.model[name]}
    assert differs
    assert differs <= {"mu_temperature", "lambda_const", "steps", "dropout", "node_dropout", "weight_decay"}
    assert own.recipe == general.recipe


@pytest.mark.parametrize("dataset", PUBLISHED)
def test_paper_is_the_printed_equations(dataset: str) -> None:
    settings = resolve("confgcn", "paper", dataset, {})
    printed = {
        name: field.default
        for name, field in hyperparameters(PaperConfGCN).model_fields.items()
        if not name.startswith("lambda_") and name != "gamma"
    }
    assert {name: settings.model[name] for name in printed} == printed
    assert all(settings.model[f"lambda_{term}"] > 0 for term in ("smooth", "label", "const", "reg"))


def test_tuned_gcn_differs_from_the_reference_on_cora_ml_only() -> None:
    for dataset in PUBLISHED:
        tuned, reference = (resolve("gcn", preset, dataset, {}) for preset in ("tuned", "reference"))
        assert (tuned.model == reference.model) is (dataset != "cora_ml")
        assert tuned.recipe == reference.recipe


@pytest.mark.parametrize("method", METHODS)
def test_every_preset_of_every_method_resolves(method: str) -> None:
    assert preset_names(method)
    for preset in [*preset_names(method), "default"]:
        resolve(method, preset, "cora", {})


def test_overrides_find_their_section() -> None:
    overrides = {"epochs": 3, "dropout": 0.1, "feature_scaling": "none"}
    settings = resolve("confgcn", "released", "cora", overrides)
    assert (settings.recipe.epochs, settings.model["dropout"], settings.data.feature_scaling) == (3, 0.1, "none")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("confgnc", "default", "cora", {}), "did you mean 'confgcn'"),
        (("confgcn", "relesed", "cora", {}), "did you mean 'released'"),
        (("confgcn", "default", "cora", {"dropuot": 0.5}), "did you mean 'dropout'"),
        (("confgcn", "default", "cora", {"dropout": 1.0}), "less than 1"),
        (("confgcn", "default", "cora", {"hidden_dim": 0}), "hidden_dim = 0"),
        (("confgcn", "consensus", "cora", {"gamma": 0.0}), "gamma = 0.0"),
        (("confgcn", "default", "cora", {"lambda_const": -1.0}), "lambda_const = -1.0"),
        (("confgcn", "default", "cora", {"dropout": "__import__('os')"}), "valid number"),
        (("gcn", "default", "cora", {"influence": "uniform"}), "unknown setting 'influence'"),
    ],
)
def test_what_cannot_be_used_is_named(arguments: tuple[str, str, str, dict[str, Any]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve(*arguments)


HARDER = {"edges_between_classes": 0.5, "flipped_labels": 0.5, "held_back_validation": 0.5}


def test_edges_are_added_by_true_labels_and_features_scaled_last(small_graph: Graph) -> None:
    prepared = DataSettings(feature_scaling="rows", **HARDER).prepare(small_graph, seed=3)
    mixed = add_edges_between_classes(small_graph, 0.5, seed=3)
    expected = shrink_validation_set(flip_training_labels(mixed, 0.5, seed=3), 0.5, seed=3)
    assert prepared.fingerprint == scale_features(expected, "rows").fingerprint
    flipped_first = add_edges_between_classes(flip_training_labels(small_graph, 0.5, seed=3), 0.5, seed=3)
    assert not torch.equal(flipped_first.adjacency.indices, prepared.adjacency.indices)


@pytest.mark.parametrize("name", HARDER)
def test_each_way_to_make_a_graph_harder_is_one_of_its_own(small_graph: Graph, name: str) -> None:
    prepared = DataSettings(**{name: 0.5}).prepare(small_graph, seed=3)
    changed = {
        "edges_between_classes": prepared.adjacency is not small_graph.adjacency,
        "flipped_labels": prepared.labels is not small_graph.labels,
        "held_back_validation": prepared.validation is not small_graph.validation,
    }
    assert [key for key, is_changed in changed.items() if is_changed] == [name]
    assert prepared.features is small_graph.features


def test_by_default_a_graph_is_left_as_it_is(small_graph: Graph) -> None:
    assert DataSettings().prepare(small_graph, seed=0) is small_graph


@pytest.mark.parametrize(
    ("change", "message"),
    [({"flipped_labels": 1.5}, "flipped_labels"), ({"edges_between_classes": -0.1}, "edges_between_classes")],
)
def test_a_share_out_of_range_is_refused(change: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve("confgcn", "default", "demo", change)


def test_a_search_needs_candidates() -> None:
    with pytest.raises(UsageError, match="preset consensus of confgcn has no candidates"):
        resolve("confgcn", "consensus", "", {"search": True})
    assert resolve("confgcn", "propagated", "", {}).searches
    assert not resolve("confgcn", "propagated", "", {"search": False}).searches
