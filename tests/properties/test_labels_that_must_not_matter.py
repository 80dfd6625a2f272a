"""Labels that a method must not see, altered: no byte changes. Those of the validation set change a choice alone."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.models.registry import METHODS
from confgcn.runs.predictions import disagreeing_edges_table, label_errors_table, prediction_table
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.settings import preset_names
from confgcn.runs.tables import csv_bytes
from confgcn.runs.train import fit_in_memory, train

VARIANTS = [(method, preset) for method in METHODS for preset in preset_names(method)]
QUICK: dict[str, dict[str, Any]] = {
    "deepwalk": {"walks_per_node": 1, "num_passes": 1, "walk_length": 5},
    "planetoid": {"label_steps": 1, "graph_steps": 1, "graph_share": 1.0},
    "semi_emb": {"num_pairs": 50},
}
EPOCHS = 4
WHOLE = block_model(80, seed=2)
LABELLED, VALIDATED, TESTED = (
    torch.arange(0, 14),
    torch.arange(14, 24),
    torch.arange(24, 32),
)  # the others are in no set
GRAPH = replace(WHOLE, train=LABELLED, validation=VALIDATED, test=TESTED)
CROSS_FITTED = replace(GRAPH, validation=torch.empty(0, dtype=torch.long))
UNSEEN = range(24, 80)

few = settings(max_examples=2, deadline=None, derandomize=True)
any_label = st.integers(-1, GRAPH.num_classes - 1)


def altered(graph: Graph, nodes: range, labels: list[int]) -> Graph:
    """Other labels at these nodes; what is in a set keeps one."""
    changed = graph.labels.clone()
    changed[list(nodes)] = torch.tensor(labels)
    is_in_a_set = torch.cat([graph.train, graph.validation, graph.test])
    changed[is_in_a_set] = changed[is_in_a_set].clamp(min=0)
    return replace(graph, labels=changed)


def fitted(graph: Graph, variant: tuple[str, str], **changes: bool) -> Run:
    method, preset = variant
    overrides = {"epochs": EPOCHS, **QUICK.get(method, {}), **changes}
    request = RunRequest(graph, method=method, preset=preset, overrides=overrides)
    with computing_with(1):
        return fit_in_memory(graph, request.settings(), run_config(request), notify=lambda _: None)


def what_is_found(run: Run) -> dict[str, bytes]:
    """Tables, weights, history and how logits become probabilities, but nothing that is measured."""
    tables = {
        "predictions": prediction_table(run, torch.arange(run.prepared.num_nodes)),
        "labels": label_errors_table(run),
        "edges": disagreeing_edges_table(run),
    }
    weights = {name: value.numpy().tobytes() for name, value in run.method.state_dict().items()}
    records = {"history": run.history, "calibration": run.assessment.calibration.to_json()}
    held_out = b"" if run.held_out is None else run.held_out.logits.numpy().tobytes()
    return {
        **{name: csv_bytes(table) for name, table in tables.items()},
        **weights,
        **{name: json.dumps(record).encode() for name, record in records.items()},
        "held out": held_out,
    }


@cache
def reference(variant: tuple[str, str], *, cross_fitted: bool = False, **changes: bool) -> Run:
    return fitted(CROSS_FITTED if cross_fitted else GRAPH, variant, **changes)


def loss_terms(run: Run) -> list[dict[str, float]]:
    return [{name: value for name, value in record.items() if name.startswith("loss")} for record in run.history]


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
@few
@given(labels=st.lists(any_label, min_size=len(UNSEEN), max_size=len(UNSEEN)))
def test_labels_outside_training_and_validation_change_no_byte(variant: tuple[str, str], labels: list[int]) -> None:
    assert what_is_found(fitted(altered(GRAPH, UNSEEN, labels), variant)) == what_is_found(reference(variant))


@pytest.mark.parametrize("variant", [("confgcn", preset) for preset in preset_names("confgcn")], ids="-".join)
@few
@given(labels=st.lists(any_label, min_size=len(UNSEEN), max_size=len(UNSEEN)))
def test_nor_where_the_labels_of_the_training_are_held_out_in_turn(variant: tuple[str, str], labels: list[int]) -> None:
    found = what_is_found(fitted(altered(CROSS_FITTED, UNSEEN, labels), variant))
    assert found == what_is_found(reference(variant, cross_fitted=True))


@pytest.mark.parametrize("variant", VARIANTS, ids="-".join)
@few
@given(labels=st.lists(any_label, min_size=len(VALIDATED), max_size=len(VALIDATED)))
def test_validation_labels_change_no_term_of_the_loss(variant: tuple[str, str], labels: list[int]) -> None:
    single = {"search": False}  # validation labels choose the candidates of a search
    run, before = fitted(altered(GRAPH, range(14, 24), labels), variant, **single), reference(variant, **single)
    epochs = min(len(run.history), len(before.history))  # they may stop a training, and select one of its epochs
    assert loss_terms(run)[:epochs] == loss_terms(before)[:epochs]
    if not before.history:
        assert torch.equal(run.prediction.logits, before.prediction.logits)


def test_validation_labels_do_select() -> None:
    """So that the tests above compare something: another epoch is kept, by the same losses."""
    variant = ("gcn", "reference")
    wrong = (GRAPH.labels[VALIDATED] + 1) % GRAPH.num_classes
    run, before = fitted(altered(GRAPH, range(14, 24), wrong.tolist()), variant), reference(variant)
    assert run.metrics["validation_accuracy"] != before.metrics["validation_accuracy"]
    assert what_is_found(run)["calibration"] != what_is_found(before)["calibration"]


def test_a_training_label_does_matter() -> None:
    labels = (GRAPH.labels[LABELLED] + 1) % GRAPH.num_classes
    changed = altered(GRAPH, range(14), labels.tolist())
    for variant in VARIANTS:
        assert (
            what_is_found(fitted(changed, variant))["predictions"] != what_is_found(reference(variant))["predictions"]
        )


def test_no_file_of_a_run_but_those_that_hold_or_measure_them_knows_of_test_labels(tmp_path: Path) -> None:
    other = altered(GRAPH, UNSEEN, [(label + 1) % GRAPH.num_classes for label in GRAPH.labels[24:].tolist()])
    for name, graph in (("one", GRAPH), ("other", other)):
        request = RunRequest(graph, overrides={"epochs": EPOCHS}, out=tmp_path / name)
        train(request, notify=lambda _: None)
    files = {file.name for file in (tmp_path / "one").iterdir()} - {"run.lock"}
    contents = [{file: (tmp_path / name / file).read_bytes() for file in files} for name in ("one", "other")]
    different = {file for file in files if contents[0][file] != contents[1][file]}
    # The copy of the graph, its hash, what is measured, and the checksums of these.
    assert different == {"graph.npz", "environment.json", "metrics.json", "SHA256SUMS"}
