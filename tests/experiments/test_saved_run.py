"""A run on a graph that was made harder is read again with that graph and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from confgcn.data.demo import load_demo
from confgcn.experiments.presets import resolve
from confgcn.experiments.runs import RunRequest, train, trained_loop
from confgcn.experiments.saved_run import SavedRun, load_run

SEED = 3
HARDER = {"epochs": 3, "edges_between_classes": 0.2, "flipped_labels": 0.1, "held_back_validation": 0.5}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> SavedRun:
    out = tmp_path_factory.mktemp("saved") / "run"
    train(RunRequest(graph="demo", seed=SEED, out=out, overrides=HARDER), notify=lambda _: None)
    return load_run(out)


def test_the_graph_trained_on_is_made_again_with_the_seed_of_the_run(saved: SavedRun) -> None:
    settings, graph = resolve("confgcn", "default", "demo", HARDER), load_demo()
    prepared = saved.prepared(graph)
    assert prepared.fingerprint == settings.data.prepare(graph, seed=SEED).fingerprint
    assert prepared.fingerprint != settings.data.prepare(graph, seed=SEED + 1).fingerprint
    assert prepared.edge_counts.unique == round(1.2 * graph.edge_counts.unique)
    assert int((prepared.labels != graph.labels).sum()) == 14
    assert (len(graph.validation), len(prepared.validation)) == (500, 250)


def test_predictions_are_those_of_the_training_on_that_graph(saved: SavedRun) -> None:
    loop = trained_loop(load_demo(), resolve("confgcn", "default", "demo", HARDER), seed=SEED)
    trained, read = loop.predict(), saved.predict(load_demo())
    assert torch.equal(read.logits, trained.logits)
    assert torch.equal(read.influence, trained.influence)
    assert len(read.influence) == saved.prepared(load_demo()).adjacency.num_entries


def test_several_seeds_are_disturbed_each_in_its_own_way(tmp_path: Path) -> None:
    request = RunRequest(graph="demo", method="feat", seeds=2, out=tmp_path / "runs", overrides={**HARDER, "epochs": 1})
    train(request, notify=lambda _: None)
    graphs = [load_run(tmp_path / "runs" / f"seed-{seed}").prepared(load_demo()) for seed in (0, 1)]
    assert not torch.equal(graphs[0].labels, graphs[1].labels)
    assert not torch.equal(graphs[0].adjacency.indices, graphs[1].adjacency.indices)
