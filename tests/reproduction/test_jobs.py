"""The key of a run, and the runs that a scope selects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from confgcn.data.splits import random_split
from confgcn.data.synthetic import block_model
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import AbstractMethod
from confgcn.runs.settings import hyperparameters
from reproduction import jobs
from reproduction.jobs import Job, Scope, Variant, digest, graph_key, settings_key

GCN, FEAT = Variant("Kipf-GCN", "gcn"), Variant("Feat", "feat")


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """Keys are kept by the process; here what they depend on changes."""
    settings_key.cache_clear()
    graph_key.cache_clear()
    yield
    settings_key.cache_clear()
    graph_key.cache_clear()


@pytest.fixture
def split_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small graph in place of every named one, its split drawn with the split seed."""
    graph = block_model(120, seed=1)

    def load(name: str, *, data_dir: Any, split_seed: int) -> Graph:
        return random_split(graph, seed=split_seed, train=20, validation=30, test=40)

    monkeypatch.setattr(jobs, "load_graph", load)


def test_a_run_of_the_same_settings_seed_and_data_has_the_same_key() -> None:
    assert Job("demo", GCN, 0).key(None) == Job("demo", GCN, 0).key(None)


@pytest.mark.parametrize(
    "other",
    [
        Job("demo", GCN, 1),
        Job("demo", GCN.changed("Kipf-GCN", dropout=0.6), 0),
        Job("demo", GCN.changed("Kipf-GCN", learning_rate=0.02), 0),
        Job("demo", GCN.changed("Kipf-GCN", feature_scaling="none"), 0),
        Job("demo", GCN.changed("Kipf-GCN", flipped_labels=0.1), 0),
        Job("demo", Variant("Kipf-GCN", "feat"), 0),
    ],
    ids=["seed", "model", "recipe", "data", "labels", "method"],
)
def test_another_seed_setting_or_method_has_another_key(other: Job) -> None:
    assert other.key(None) != Job("demo", GCN, 0).key(None)


def test_the_kind_changes_the_key_of_confidence_runs_only() -> None:
    paper, confidence = Job("demo", GCN, 0), Job("demo", GCN, 0, "confidence")
    assert paper.key(None) == digest([paper.settings_key, 0, graph_key("demo", 0, None)])
    assert confidence.key(None) != paper.key(None)
    assert confidence.settings_key == paper.settings_key


def test_the_names_of_preset_and_row_do_not_matter() -> None:
    variants = [
        GCN,
        Variant("another title", "gcn"),
        Variant("Kipf-GCN", "gcn", "tuned"),
        Variant("Kipf-GCN", "gcn", "reference"),
    ]
    assert len({Job("demo", variant, 0).key(None) for variant in variants}) == 1
    assert len({settings_key(variant, "citeseer") for variant in variants}) == 1
    assert len({settings_key(variant, "cora_ml") for variant in variants}) == 2  # where `tuned` differs


def test_a_default_setting_does_not_change_the_key() -> None:
    written_out = GCN.changed("Kipf-GCN", activation="relu", hidden_dim=16, evaluate_every=1)
    assert settings_key(written_out, "demo") == settings_key(GCN, "demo")
    assert settings_key(GCN.changed("Kipf-GCN", activation="identity"), "demo") != settings_key(GCN, "demo")


def test_a_new_option_loses_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings_key(GCN, "demo")

    def with_new_option(method: type[AbstractMethod]) -> type[BaseModel]:
        class Newer(hyperparameters(method)):  # type: ignore[misc]
            new_option: bool = False

        return Newer

    monkeypatch.setattr(jobs, "hyperparameters", with_new_option)
    settings_key.cache_clear()
    assert settings_key(GCN, "demo") == before


@pytest.mark.usefixtures("split_drawn")
def test_another_split_or_graph_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert graph_key("cora_ml", 0, None) != graph_key("cora_ml", 1, None)
    before = Job("demo", GCN, 0).key(None)
    other = block_model(120, seed=2)
    monkeypatch.setattr(jobs, "load_graph", lambda *_, **__: other)
    graph_key.cache_clear()
    assert Job("demo", GCN, 0).key(None) != before


def test_the_seed_draws_the_split_where_none_is_published() -> None:
    assert [Job("cora_ml", GCN, seed).split_seed for seed in (0, 3)] == [0, 3]
    assert [Job("cora", GCN, seed).split_seed for seed in (0, 3)] == [0, 0]


def test_changes_accumulate_and_the_last_wins() -> None:
    variant = GCN.changed("deep", num_layers=4).changed("deeper", num_layers=6, dropout=0.0)
    settings = variant.settings("demo")
    assert (settings.model["num_layers"], settings.model["dropout"]) == (6, 0.0)
    assert (variant.title, GCN.changes) == ("deeper", ())


def test_a_job_is_named_by_its_settings() -> None:
    assert str(Job("demo", GCN, 3)) == "demo gcn default seed 3"
    deep = Variant("x", "confgcn", "paper").changed("x", num_layers=4, activation="identity")
    assert str(Job("cora", deep, 0)) == "cora confgcn paper num_layers=4 activation=identity seed 0"


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'dropout'"):
        settings_key(GCN.changed("x", dropuot=0.1), "demo")


def test_every_variant_on_every_data_set_with_every_seed() -> None:
    jobs = Scope(seeds=2).jobs(("cora", "citeseer"), (GCN, FEAT))
    assert len(jobs) == len(set(jobs)) == 8
    assert jobs[:3] == [Job("cora", GCN, 0), Job("cora", GCN, 1), Job("cora", FEAT, 0)]


def test_data_sets_and_methods_can_be_chosen() -> None:
    scope = Scope(seeds=1, datasets=("demo",), methods=("feat", "gat"))
    assert scope.jobs(("cora", "citeseer"), (GCN, FEAT)) == [Job("demo", FEAT, 0)]
    assert scope.datasets_or(("cora",)) == ("demo",)
    assert Scope().datasets_or(["cora"]) == ("cora",)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": 0}, "seeds = 0: expected a whole number from 1"),
        ({"datasets": ("coar",)}, "did you mean 'cora'"),
        ({"methods": ("gnc",)}, "did you mean 'gcn'"),
    ],
)
def test_an_invalid_scope_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Scope(**wrong)
