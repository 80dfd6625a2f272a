"""Every number about a run's confidences, flat: what ``confgcn evaluate`` says and ``reproduce confidence`` keeps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from confgcn.confidence.assessment import calibrated
from confgcn.evaluation.accuracy import accuracy
from confgcn.evaluation.edges import edge_aurocs
from confgcn.evaluation.scorecard import METRICS, Scorecard, score, score_slices
from confgcn.experiments.saved_run import SavedRun
from confgcn.graph import Graph
from confgcn.method import Prediction

CALIBRATED = "calibrated_"
LEARNED = ("auroc_precision", "mu_accuracy", "auroc_mu", "auroc_edge", "auroc_distance", "uniform_accuracy")
SCORES = (*METRICS, *LEARNED, *(CALIBRATED + name for name in METRICS))


def evaluate(run: SavedRun, graph: Graph) -> dict[str, Any]:
    """The test nodes of the graph the run was trained on, given as it was loaded: ``SCORES``, then slice by slice.

    Keys are documented in docs/confidence.md. None where a method has no such quantity.
    """
    prepared = run.prepared(graph)
    prediction = run.method.predict(prepared.training_view())
    calibration, probabilities = calibrated(prepared, prediction, prepared.validation)
    return {
        **scores(run, prepared, prediction, probabilities),
        "calibration": calibration.name,
        **score_slices(prepared, prepared.test, prediction.probabilities),
        **{CALIBRATED + name: value for name, value in score_slices(prepared, prepared.test, probabilities).items()},
    }


def scores(run: SavedRun, graph: Graph, prediction: Prediction, probabilities: Tensor) -> Scorecard:
    """``SCORES``, for the calibrated ``probabilities`` (N, C)."""
    nodes = graph.test
    raw = score(graph, nodes, prediction.probabilities, mu=prediction.mu, precision=prediction.precision)
    scaled = score(graph, nodes, probabilities)
    found = {**raw, **_of_edges(run, graph, prediction), **{CALIBRATED + name: scaled[name] for name in METRICS}}
    return {name: found.get(name) for name in SCORES}


def _of_edges(run: SavedRun, graph: Graph, prediction: Prediction) -> Scorecard:
    """What influences tell of edges, and what the model is worth without them."""
    if prediction.influence is None or prediction.distance is None:
        return {}
    aurocs = edge_aurocs(graph, prediction.influence, prediction.distance)
    found: Scorecard = {"auroc_edge": aurocs.auroc_edge, "auroc_distance": aurocs.auroc_distance}
    control = run.method.with_uniform_influence()
    if control is not None and len(graph.test):
        logits = control.predict(graph.training_view()).logits
        found["uniform_accuracy"] = accuracy(logits[graph.test], graph.labels[graph.test])
    return found


def pool_of_calibration(graph: Graph, prepared: Graph) -> Tensor:
    """Test nodes, and validation nodes that were held back: neither trained on nor chosen by."""
    used = torch.isin(graph.validation, prepared.validation)
    return torch.cat([graph.validation[~used], graph.test]).sort().values
