"""Nodes that were not there at training: predicted with the weights fixed, and judged by the labels of the training."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor

from confgcn.confidence.assessment import Assessment, assess
from confgcn.data.extension import Extension, extend_graph
from confgcn.data.raw import RawGraph
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.models.base import Prediction
from confgcn.runs.saved import SavedRun, finite_prediction
from confgcn.runs.settings import DataSettings


@dataclass(frozen=True, eq=False)
class ExtendedRun:
    """What is said of old and new nodes; ``extension`` says which are which, ``before`` what was said of the old."""

    extension: Extension
    prepared: Graph
    prediction: Prediction
    assessment: Assessment
    before: tuple[Graph, Prediction, Assessment]


def predict_new_nodes(
    run: SavedRun, graph: Graph, addition: RawGraph, *, update_existing: bool = False, **asked: float
) -> ExtendedRun:
    """Predict the nodes that ``addition`` joins to the graph of the training, given as it was loaded.

    Nodes that were there keep their label scores and precisions, and unless ``update_existing`` their features and what
    was said of them.
    """
    _check_unperturbed(run.data)
    extension = extend_graph(graph, addition, update_features=update_existing)
    prepared = run.data.prepare(extension.graph, seed=run.config["seed"], fitted_on=graph)
    prediction = finite_prediction(run.method.extend(prepared.training_view()), prepared)
    base, before, assessed = run.assessed(graph, **asked)
    nodes = extension.known[graph.validation if run.held_out is None else graph.train]
    held_out = _with_rows(prediction, run.held_out or before, extension.known)
    said = _with_usual_precision(prediction, extension)
    assessment = assess(prepared, said, nodes, held_out=held_out, feature_probabilities=None, **asked)
    if not update_existing:
        prediction = _with_rows(prediction, before, extension.known)
        assessment = _kept(assessment, assessed, extension.known)
    return ExtendedRun(extension, prepared, prediction, assessment, (base, before, assessed))


def _check_unperturbed(data: DataSettings) -> None:
    changed = [name for name in data.model_fields_set if name != "feature_scaling" and getattr(data, name)]
    if changed:
        raise UsageError(
            f"the run was trained on a graph changed on purpose ({', '.join(changed)}): nothing can be added"
        )


def _with_usual_precision(prediction: Prediction, extension: Extension) -> Prediction:
    """As calibration is to see it: new nodes with the mean precision of the others.

    Theirs comes of a few steps and not of a training, so that a temperature by precision would mistake it.
    """
    if prediction.precision is None or not len(extension.new):
        return prediction
    usual = prediction.precision[extension.known].mean(0).expand(len(extension.new), -1)
    return replace(prediction, precision=prediction.precision.index_copy(0, extension.new, usual))


def _with_rows(prediction: Prediction, rows: Prediction, places: Tensor) -> Prediction:
    """The prediction with these rows in these places, for all that is said of single nodes."""
    changed = {}
    for name in ("logits", "mu", "precision", "evidence"):
        here, there = getattr(prediction, name), getattr(rows, name)
        if here is not None and there is not None:
            changed[name] = here.index_copy(0, places, there)
    return replace(prediction, **changed)


def _kept(assessment: Assessment, before: Assessment, places: Tensor) -> Assessment:
    """What was said of the nodes that were there, and what is said of the others."""
    kept = {
        name: getattr(assessment, name).index_copy(0, places, getattr(before, name))
        for name in ("probabilities", "sets", "novelty")
        if getattr(assessment, name) is not None
    }
    if assessment.decision is not None and before.decision is not None:
        accepted = assessment.accepted.index_copy(0, places, before.accepted)[assessment.candidates]
        kept["decision"] = replace(before.decision, accepted=accepted)
    return replace(assessment, **kept)
