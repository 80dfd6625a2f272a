"""Every number about a run's confidences, flat: what ``confgcn evaluate`` says and ``reproduce confidence`` keeps."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from confgcn.evaluation.calibration_error import reliability
from confgcn.evaluation.edges import edge_aurocs
from confgcn.evaluation.metrics import accuracy
from confgcn.evaluation.scorecard import METRICS, Scorecard, score, score_groups
from confgcn.evaluation.selective import risk_coverage
from confgcn.exceptions import DataError, ResourceError
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_together
from confgcn.io.json_files import to_json
from confgcn.io.locks import locked_folder
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.report.figures import evaluation_figures
from confgcn.runs.directory import RunDirectory
from confgcn.runs.saved import Judged, SavedRun, graph_of, load_run

CALIBRATED = "calibrated_"
LEARNED = ("auroc_precision", "mu_accuracy", "auroc_mu", "auroc_edge", "auroc_distance", "uniform_accuracy")
RETRAINED = "uniform_trained_accuracy"  # which only runs trained for it know: ``confgcn reproduce confidence``
SCORES = (*METRICS, *LEARNED, *(CALIBRATED + name for name in METRICS))


def evaluate(run: SavedRun, judged: Judged) -> dict[str, Any]:
    """The nodes that what was judged may be measured on: ``SCORES``, then slice by slice.

    Keys are documented in docs/confidence.md. None where a method has no such quantity.
    """
    nodes = judged.nodes
    calibrated = score_groups(judged.graph, nodes, judged.probabilities)
    return {
        **scores(run.method, judged),
        RETRAINED: None,
        "measured_on": judged.measured_on,
        "calibration": run.calibration.name,
        **score_groups(judged.graph, nodes, judged.prediction.raw_probabilities),
        **{CALIBRATED + name: value for name, value in calibrated.items()},
    }


def scores(method: AbstractMethod, judged: Judged) -> Scorecard:
    """``SCORES`` of a trained method's prediction."""
    graph, prediction, nodes = judged.graph, judged.prediction, judged.nodes
    raw = score(graph, nodes, prediction.raw_probabilities, mu=prediction.mu, precision=prediction.precision)
    scaled = score(graph, nodes, judged.probabilities)
    found = {**raw, **_of_edges(method, graph, prediction), **{CALIBRATED + name: scaled[name] for name in METRICS}}
    return {name: found.get(name) for name in SCORES}


def _of_edges(method: AbstractMethod, graph: Graph, prediction: Prediction) -> Scorecard:
    """What influences tell of edges, and what the model is worth without them."""
    if prediction.influence is None or prediction.distance is None:
        return {}
    aurocs = edge_aurocs(graph, prediction.influence, prediction.distance)
    found: Scorecard = {"auroc_edge": aurocs.auroc_edge, "auroc_distance": aurocs.auroc_distance}
    control = method.with_uniform_influence()
    if control is not None and len(graph.test):
        logits = control.predict(graph.training_view()).logits
        found["uniform_accuracy"] = accuracy(logits[graph.test], graph.labels[graph.test])
    return found


def curves(judged: Judged) -> dict[str, Any]:
    """The numbers of the figures: reliability and risk against coverage, raw and calibrated, and groups of nodes."""
    graph = judged.graph
    nodes = judged.nodes[graph.labels[judged.nodes] >= 0]
    kinds = {"raw": judged.prediction.raw_probabilities, "calibrated": judged.probabilities}
    scored = score_groups(graph, nodes, judged.probabilities)
    names = [name.removesuffix("_count") for name in scored if name.endswith("_count")]
    groups = [{"name": n, **{key: scored[f"{n}_{key}"] for key in ("count", "accuracy", "confidence")}} for n in names]
    return {
        **{kind: _curves_of(values[nodes], graph.labels[nodes]) for kind, values in kinds.items()},
        "groups": groups,
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
    judged = run.measurable(graph_of(path, run, data_dir=data_dir))
    if not len(judged.nodes):
        raise DataError(
            f"{path}: {judged.graph.name} has no test nodes to evaluate on, nor were labels held out in turn"
        )
    found, notices = evaluate(run, judged), []
    contents = {directory.evaluation: to_json(found)}
    try:
        drawn = evaluation_figures(curves(judged))
        contents |= {file: drawn[file.stem] for file in directory.pictures}
    except ResourceError as error:
        notices.append(f"no pictures: {error}")
    with locked_folder(path) as left_behind:
        write_together(contents)
    return found, list(contents), [*notices, *left_behind]
