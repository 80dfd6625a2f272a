"""Every number about a run's confidences, flat: what ``confgcn evaluate`` says and ``reproduce confidence`` keeps."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from confgcn.data.datasets import load_graph
from confgcn.evaluation.accuracy import accuracy
from confgcn.evaluation.edges import edge_aurocs
from confgcn.evaluation.reliability import reliability
from confgcn.evaluation.scorecard import METRICS, Scorecard, score, score_slices
from confgcn.evaluation.selective import risk_coverage
from confgcn.exceptions import DataError, ResourceError
from confgcn.experiments.saved_run import SavedRun, load_run
from confgcn.graph import Graph
from confgcn.method import Prediction
from confgcn.reporting.trust import pictures
from confgcn.training.files import to_json, write_atomic
from confgcn.training.run_directory import RunDirectory

CALIBRATED = "calibrated_"
LEARNED = ("auroc_precision", "mu_accuracy", "auroc_mu", "auroc_edge", "auroc_distance", "uniform_accuracy")
RETRAINED = "uniform_trained_accuracy"  # which only runs trained for it know: ``confgcn reproduce confidence``
SCORES = (*METRICS, *LEARNED, *(CALIBRATED + name for name in METRICS))


def evaluate(run: SavedRun, graph: Graph) -> dict[str, Any]:
    """The test nodes of the graph the run was trained on, given as it was loaded: ``SCORES``, then slice by slice.

    Keys are documented in docs/confidence.md. None where a method has no such quantity.
    """
    prepared = run.prepared(graph)
    prediction = run.method.predict(prepared.training_view())
    probabilities = run.scaling(prepared, prediction).probabilities(prediction.logits)
    return {
        **scores(run, prepared, prediction, probabilities),
        RETRAINED: None,
        "calibration": run.calibration.name,
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


def curves(run: SavedRun, graph: Graph) -> dict[str, Any]:
    """The numbers of the pictures: reliability and risk against coverage, raw and calibrated, and every slice."""
    prepared = run.prepared(graph)
    prediction = run.method.predict(prepared.training_view())
    probabilities = run.scaling(prepared, prediction).probabilities(prediction.logits)
    nodes = prepared.test[prepared.labels[prepared.test] >= 0]
    kinds = {"raw": prediction.probabilities, "calibrated": probabilities}
    slices = score_slices(prepared, nodes, probabilities)
    names = [name.removesuffix("_count") for name in slices if name.endswith("_count")]
    parts = [{"name": n, **{key: slices[f"{n}_{key}"] for key in ("count", "accuracy", "confidence")}} for n in names]
    return {
        **{kind: _curves_of(values[nodes], prepared.labels[nodes]) for kind, values in kinds.items()},
        "slices": parts,
    }


def _curves_of(probabilities: Tensor, labels: Tensor) -> dict[str, Any]:
    confidence, predicted = probabilities.double().max(-1)
    correct = predicted == labels
    curve = risk_coverage(confidence, correct)
    return {
        "reliability": [asdict(part) for part in reliability(confidence, correct)],
        "risk_coverage": {"coverage": curve.coverage.tolist(), "risk": curve.risk.tolist()},
    }


def evaluate_run(path: Path, *, data_dir: Path | None = None) -> tuple[dict[str, Any], list[Path], list[str]]:
    """Evaluate the run of a directory: the numbers, the files written into it, and notices."""
    run, directory = load_run(path), RunDirectory(path)
    graph = load_graph(run.config["dataset"], data_dir=data_dir, split_seed=run.config["split_seed"])
    if not len(graph.test):
        raise DataError(f"{path}: {graph.name} has no test nodes to evaluate on")
    found, notices = evaluate(run, graph), []
    contents = {"evaluation.json": to_json(found)}
    try:
        contents |= pictures(curves(run, graph))
    except ResourceError as error:
        notices.append(f"no pictures: {error}")
    for name, content in contents.items():
        write_atomic(directory.path / name, content)
    return found, [directory.path / name for name in contents], notices


def pool_of_calibration(graph: Graph, prepared: Graph) -> Tensor:
    """Test nodes, and validation nodes that were held back: neither trained on nor chosen by."""
    used = torch.isin(graph.validation, prepared.validation)
    return torch.cat([graph.validation[~used], graph.test]).sort().values
