"""Hand-written records of runs and predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.graph import Graph
from confgcn.models.base import Prediction
from reproduction.jobs import Job, Variant
from reproduction.measurements import Measurements
from reproduction.node_comparison import ModelComparison
from reproduction.results import Results, RunRecord

MakeRecord = Callable[..., RunRecord]


@pytest.fixture
def record() -> MakeRecord:
    """The record of a job with these measurements; without any its training diverged."""

    def make(job: Job, **measured: Any) -> RunRecord:
        return RunRecord(
            run=f"{job.dataset}/{job.settings_key}/{job.seed}",
            settings=job.settings_key,
            graph="0" * 16,
            environment="e" * 16,
            date="2026-11-16",
            dataset=job.dataset,
            method=job.variant.method,
            preset=job.variant.preset,
            changes=job.variant.changes_text,
            seed=job.seed,
            outcome="finished" if measured else "diverged",
            measured=Measurements(**measured),
        )

    return make


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """An empty folder of results."""
    (tmp_path / "results").mkdir()
    return Results(tmp_path / "results")


@pytest.fixture
def keep(results: Results, record: MakeRecord) -> Callable[..., None]:
    """Add runs of a variant on a data set to the results, one for each test accuracy; None: it diverged."""

    def add(dataset: str, variant: Variant, *accuracies: float | None, **measured: Any) -> None:
        for seed, accuracy in enumerate(accuracies):
            found = {} if accuracy is None else {"test_accuracy": accuracy, **measured}
            results.add(record(Job(dataset, variant, seed), **found), {"e" * 16: {}})

    return add


LABELS = [0, 0, 1, 1, 0, 1, 0]


@pytest.fixture
def comparison() -> ModelComparison:
    """A path 0 - 1 - ... - 6 with 1 - 3 and 1 - 4, of which nodes 1 to 5 are tested.

    ConfGCN predicts 1, 2 and 3 correctly and Kipf-GCN does not; with uniform influences 1 and 2 are lost and 5 is
    gained. The influences on 1 and 3 are uneven, those on 2 nearly even.
    """
    edges = [(node, node + 1) for node in range(6)] + [(1, 3), (1, 4)]
    graph = Graph.build(edges, np.eye(7), LABELS, train=[0, 6], test=[1, 2, 3, 4, 5])
    influence = torch.ones(graph.adjacency.num_entries)
    influence[graph.adjacency.rows == 1] = torch.tensor([1.0, 1.0, 1.0, 1.0, 1.5])
    influence[graph.adjacency.rows == 2] = torch.tensor([1.0, 1.01, 1.0])
    influence[graph.adjacency.rows == 3] = torch.tensor([1.0, 1.0, 1.0, 2.0])
    shape = graph.num_nodes, graph.num_classes
    confgcn = _predicts({0, 5}, influence=influence, mu=torch.ones(shape), precision=torch.ones(shape))
    return ModelComparison(
        "ConfGCN", 3, graph, gcn=_predicts({0, 1, 2, 3}), confgcn=confgcn, uniform=_predicts({0, 1, 2})
    )


def _predicts(wrong: set[int], **quantities: Tensor) -> Prediction:
    """The true label of every node but these."""
    labels = [1 - label if node in wrong else label for node, label in enumerate(LABELS)]
    return Prediction(functional.one_hot(torch.tensor(labels)).float(), **quantities)
