"""Hand-written records of runs and predictions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn import functional

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from reproduction.confidence import UNIFORM
from reproduction.confidence_targets import TARGETS
from reproduction.default_variants import CONSENSUS, DEFAULT
from reproduction.jobs import Job, Variant
from reproduction.measurements import Measurements
from reproduction.node_comparison import ModelComparison
from reproduction.results import Results, RunRecord
from reproduction.table2 import GAT, GCN

MakeRecord = Callable[..., RunRecord]


@pytest.fixture
def development(tmp_path: Path) -> Path:
    """Two graphs in the development format with four splits each: ``groups`` of four classes, ``halves`` of two."""
    for name, classes in (("groups", 4), ("halves", 2)):
        folder = tmp_path / "development" / name
        folder.mkdir(parents=True)
        graph = block_model(120, num_classes=classes, num_features=8, seed=1)
        structure = graph.neighbours
        once = structure.indices < structure.rows
        np.save(folder / "edges.npy", torch.stack([structure.indices, structure.rows], dim=1)[once].numpy())
        np.save(folder / "labels.npy", graph.labels.numpy())
        sp.save_npz(folder / "features.npz", sp.csr_matrix(np.asarray(graph.features)))
        random = np.random.default_rng(0)
        splits = np.repeat(np.array([[1] * 40 + [2] * 30 + [3] * 45 + [0] * 5], dtype=np.int8), 4, axis=0)
        np.save(folder / "splits.npy", random.permuted(splits, axis=1))
    return tmp_path / "development"


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


SETS = {f"{q}_threshold_90": {"mean": m, "std": 0.0} for q, m in (("coverage", 0.901), ("size", 1.3))}
BY_DEGREE = {f"{q}_threshold_90": {"mean": m, "std": 0.0} for q, m in (("worst_by_degree", 0.91), ("deviation", 0.01))}
OWN = {
    "test_accuracy": 0.84,
    "mu_accuracy": 0.835,
    "auroc_edge": 0.85,
    "auroc_distance": 0.83,
    "calibrated_auroc_correct": 0.83,
    "calibrated_nll": 0.5,
    "calibrated_brier": 0.24,
    "calibrated_aurc": 0.05,
    "calibrated_ece": 0.03,
    "calibrated_ece_floor": 0.027,
    "no_label_confidence": 0.6,
    "lowest_other_confidence": 0.7,
    "no_label_accuracy": 0.65,
    "accepted_5": 0.5,
    "error_5": 0.04,
}


def cell(**numbers: float) -> dict[str, Any]:
    return {"runs": 10, **{name: {"mean": value, "std": 0.01} for name, value in numbers.items()}}


def difference(mean: float) -> dict[str, Any]:
    return {"mean": mean, "low": mean - 0.005, "high": mean + 0.005, "pairs": 10}


INFLUENCES = {name: {"test": {"mean": 0.84, "std": 0.01}} for name in ("uniform", "learned", "chosen")}
CONFIDENCE_NUMBERS: dict[str, Any] = {
    "datasets": ["cora"],
    "ablated_on": ["cora"],
    "set_scores": ["threshold"],
    "coverages": [90],
    "errors": [5],
    "runs": 20,
    "dates": ["2026-11-16"],
    "targets": TARGETS,
    "methods": [
        {"title": DEFAULT.title, "cells": {"cora": cell(**OWN)}},
        *({"title": variant.title, "cells": {"cora": None}} for variant in (CONSENSUS, UNIFORM, GCN, GAT)),
    ],
    "mixed": [{"title": "ours", "cells": {"cora": cell(test_accuracy=0.7)}}, {"title": "u", "cells": {"cora": None}}],
    "flipped": [{"title": "ours", "cells": {"cora": cell(flips_found=0.6)}}],
    "sets": [{"title": "ours", "cells": {"cora": {**SETS, **BY_DEGREE, **cell(accepted_5=0.5, error_5=0.04)}}}],
    "ablations": [{"title": "ours", "cells": {"cora": cell(**OWN)}}],
    "influence": {
        "original": {"cora": {"influences": INFLUENCES, "differences": {"chosen": {"test": difference(0.004)}}}},
        "mixed": {},
    },
    "mixed_minus_gat": {"cora": difference(0.03)},
}


@pytest.fixture
def confidence_numbers() -> dict[str, Any]:
    """Numbers of the tables of confidences on one data set; every target is reached."""
    return copy.deepcopy(CONFIDENCE_NUMBERS)
