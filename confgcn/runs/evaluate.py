"""Evaluate a run on nodes whose labels it has not seen: the numbers of ``confgcn evaluate`` and of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from confgcn.evaluation.calibration_error import reliability
from confgcn.evaluation.edges import edge_aurocs
from confgcn.evaluation.metrics import accuracy, is_imbalanced
from confgcn.evaluation.scorecard import METRICS, Scorecard, score, score_classes, score_groups
from confgcn.evaluation.selective import risk_coverage
from confgcn.exceptions import DataError, ResourceError
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_together
from confgcn.io.json_files import to_json
from confgcn.io.locks import locked_folder
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.report.figures import evaluation_figures
from confgcn.report.formatting import notice_text
from confgcn.runs.directory import RunDirectory
from confgcn.runs.held_out import held_out_record
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run

CALIBRATED = "calibrated_"
LEARNED = ("auroc_precision", "mu_accuracy", "auroc_mu", "auroc_edge", "auroc_distance", "uniform_accuracy")
RETRAINED = "uniform_trained_accuracy"  # known only to runs of ``confgcn reproduce confidence``
SCORES = (*METRICS, *LEARNED, *(CALIBRATED + name for name in METRICS))


@dataclass(frozen=True, eq=False)
class EvaluatedNodes:
    """Nodes whose labels the method has not seen, and what was predicted for them.

    Attributes:
        graph: as the method saw it, but with all labels.
        prediction: for all nodes of the graph; only the rows of ``nodes`` are evaluated.
        probabilities: calibrated, (N, C).
        nodes: the nodes to evaluate on, (n,).
        evaluated_on: which nodes these are.
    """

    graph: Graph
    prediction: Prediction
    probabilities: Tensor
    nodes: Tensor
    evaluated_on: Literal["test nodes", "certifying nodes", "validation nodes", "labels held out in turn"]


def on_test_nodes(run: Run) -> EvaluatedNodes:
    """The test nodes of a run."""
    return EvaluatedNodes(run.prepared, run.prediction, run.probabilities, run.prepared.test, "test nodes")


def evaluated_nodes(run: Run) -> EvaluatedNodes:
    """The test nodes of a run; without these its certifying nodes; without either the labels held out in turn."""
    graph, held_out = run.prepared, run.held_out
    if not len(graph.test) and len(run.certifying_nodes):
        return EvaluatedNodes(graph, run.prediction, run.probabilities, run.certifying_nodes, "certifying nodes")
    if len(graph.test) or held_out is None:
        return on_test_nodes(run)
    probabilities = run.calibration.probabilities(graph, held_out)
    return EvaluatedNodes(graph, held_out, probabilities, graph.train, "labels held out in turn")


def evaluate(run: Run, on: EvaluatedNodes) -> dict[str, Any]:
    """``SCORES``, then those of each group of nodes.

    Keys are documented in docs/confidence.md; None where a method has no such quantity.
    """
    calibrated = score_groups(on.graph, on.nodes, on.probabilities)
    return {
        **scores(run.method, on),
        **class_scores(on),
        RETRAINED: None,
        "evaluated_on": on.evaluated_on,
        "calibration": run.calibration.name,
        **guarantees(run),
        **score_groups(on.graph, on.nodes, on.prediction.raw_probabilities),
        **{CALIBRATED + name: value for name, value in calibrated.items()},
    }


def class_scores(on: EvaluatedNodes) -> dict[str, float | bool | None]:
    """Balanced accuracy and ROC AUC, raw and calibrated, and whether the classes are imbalanced."""
    nodes = on.nodes[on.graph.labels[on.nodes] >= 0]
    labels = on.graph.labels[nodes]
    calibrated = score_classes(on.probabilities[nodes], labels)
    return {
        **score_classes(on.prediction.raw_probabilities[nodes], labels),
        **{CALIBRATED + name: value for name, value in calibrated.items()},
        "imbalanced": is_imbalanced(labels, on.graph.num_classes),
    }


def guarantees(run: Run) -> dict[str, Any]:
    """The targets of sets and decision, whether labels certify them, and what is observed on the test nodes.

    Observed are None where there are no test nodes, no held-out labels, or no accepted nodes.
    """
    graph, assessment, nodes = run.prepared, run.assessment, run.prepared.test
    names = ("set_coverage", "set_size", "accepted_share", "accepted_error")
    held_out = held_out_record(run)
    results = {
        "certified": held_out["certified"],
        "certifying_labels": held_out["certifying"],
        **run.settings.targets.model_dump(),
        **dict.fromkeys(names),
    }
    if not len(nodes):
        return results
    labels = graph.labels[nodes]
    if assessment.sets is not None:
        sets = assessment.sets[nodes]
        results["set_coverage"] = float(sets.gather(1, labels[:, None]).double().mean())
        results["set_size"] = float(sets.sum(1).double().mean())
    if assessment.decision is not None:
        accepted = assessment.accepted[nodes]
        wrong = (run.prediction.logits[nodes].argmax(-1) != labels)[accepted]
        results["accepted_share"] = float(accepted.double().mean())
        results["accepted_error"] = float(wrong.double().mean()) if len(wrong) else None
    return results


def scores(method: AbstractMethod, on: EvaluatedNodes) -> Scorecard:
    """``SCORES`` of the prediction of a trained method."""
    graph, prediction, nodes = on.graph, on.prediction, on.nodes
    raw = score(graph, nodes, prediction.raw_probabilities, mu=prediction.mu, precision=prediction.precision)
    scaled = score(graph, nodes, on.probabilities)
    known = {**raw, **_of_edges(method, graph, prediction), **{CALIBRATED + name: scaled[name] for name in METRICS}}
    return {name: known.get(name) for name in SCORES}


def _of_edges(method: AbstractMethod, graph: Graph, prediction: Prediction) -> Scorecard:
    """How well influences and distances separate edges, and the accuracy with all influences equal."""
    if prediction.influence is None or prediction.distance is None:
        return {}
    aurocs = edge_aurocs(graph, prediction.influence, prediction.distance)
    scores_of_edges: Scorecard = {"auroc_edge": aurocs.auroc_edge, "auroc_distance": aurocs.auroc_distance}
    control = method.with_uniform_influence()
    if control is not None and len(graph.test):
        logits = control.predict(graph.training_view()).logits
        scores_of_edges["uniform_accuracy"] = accuracy(logits[graph.test], graph.labels[graph.test])
    return scores_of_edges


def curves(on: EvaluatedNodes) -> dict[str, Any]:
    """The numbers of the figures: reliability and risk-coverage curves, raw and calibrated, and groups of nodes."""
    graph = on.graph
    nodes = on.nodes[graph.labels[on.nodes] >= 0]
    kinds = {"raw": on.prediction.raw_probabilities, "calibrated": on.probabilities}
    scored = score_groups(graph, nodes, on.probabilities)
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
        "reliability": [asdict(bin_) for bin_ in reliability(confidence, correct)],
        "risk_coverage": {"coverage": curve.coverage.tolist(), "risk": curve.risk.tolist()},
    }


def evaluate_run(
    path: Path, *, targets: Mapping[str, float | None] | None = None, data_dir: Path | None = None
) -> tuple[dict[str, Any], list[Path], list[str]]:
    """Evaluate the run in a directory: the numbers, the files written into it, and notices.

    ``targets`` replace those of prediction sets and decisions.
    """
    run, directory = load_run(path, data_dir=data_dir).with_targets(**(targets or {})), RunDirectory(path)
    on = evaluated_nodes(run)
    if not len(on.nodes):
        raise DataError(f"{path}: {on.graph.name} has no test nodes to evaluate on, nor labels held out in turn")
    numbers, notices = evaluate(run, on), [notice_text(record) for record in run.metrics["notices"]]
    contents = {directory.evaluation: to_json(numbers)}
    try:
        drawn = evaluation_figures(curves(on))
        contents |= {file: drawn[file.stem] for file in directory.figures}
    except ResourceError as error:
        notices.append(f"no figures: {error}")
    with locked_folder(path) as lock_notices:
        write_together(contents)
    return numbers, list(contents), [*notices, *lock_notices]
