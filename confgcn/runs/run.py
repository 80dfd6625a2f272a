"""One record of a finished run, whether it was just trained, read from its directory, or extended by new nodes."""

from __future__ import annotations

import html
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

from torch import Tensor

from confgcn.confidence.assessment import Assessment, assess
from confgcn.confidence.calibration import Calibration
from confgcn.confidence.explanations import Explanation, explain
from confgcn.data.extension import Extension
from confgcn.data.input_files import naming
from confgcn.exceptions import DataError, unknown_name
from confgcn.graph import Graph
from confgcn.kernels import all_finite
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.report.formatting import decision_text, notice_text
from confgcn.report.search_text import search_facts
from confgcn.runs.settings import RunSettings, Targets
from confgcn.training.recipe import validated
from confgcn.training.selection import Record


class Run:
    """A trained method, the graph it was trained on, and what it predicts.

    A run comes from training, from ``load_run``, or from :func:`confgcn.runs.new_nodes.predict_new_nodes`. What is
    expensive is read or computed when it is first used, and once.

    Attributes:
        config: the content of config.json.
        settings: every setting of the run.
        method: with the selected weights.
        held_out: for each training node the prediction of a training without its label, where no validation nodes
            were there to calibrate with; else None.
        extended: where new nodes were joined to the graph of the training, by which run and how; else None.
        path: the directory it was read from; None for a run in memory.
    """

    def __init__(
        self,
        config: dict[str, Any],
        settings: RunSettings,
        method: AbstractMethod,
        *,
        graph: Graph | Callable[[], Graph],
        history: list[Record] | Callable[[], list[Record]],
        metrics: dict[str, Any] | Callable[[], dict[str, Any]] | None = None,
        held_out: Prediction | None = None,
        calibration: Calibration | None = None,
        extended: ExtendedFrom | None = None,
        path: Path | None = None,
    ) -> None:
        self.config = config
        self.settings = settings
        self.method = method
        self.held_out = held_out
        self.extended = extended
        self.path = path
        self._graph, self._history, self._metrics, self._calibration = graph, history, metrics, calibration

    @cached_property
    def graph(self) -> Graph:
        """The graph as it was loaded."""
        with self._naming():
            return self._graph() if callable(self._graph) else self._graph

    @cached_property
    def history(self) -> list[Record]:
        """One record per epoch."""
        return self._history() if callable(self._history) else self._history

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """The content of metrics.json."""
        return (self._metrics() if callable(self._metrics) else self._metrics) or {}

    @cached_property
    def prepared(self) -> Graph:
        """The graph as training saw it, features scaled, validation nodes those that choose, but with all labels."""
        return self.settings.data.prepare(self.graph, seed=self.config["seed"])

    @cached_property
    def prediction(self) -> Prediction:
        """The raw outputs of the method for every node: logits and, where it has them, mu, precision, influence."""
        prepared = self.prepared
        with self._naming():
            return finite_prediction(self.method, prepared)

    @cached_property
    def assessment(self) -> Assessment:
        """Calibrated probabilities, prediction sets, the decision, novelty, suspicious labels and edges."""
        return self.assess_prediction()

    def assess_prediction(self, *, feature_probabilities: Tensor | None = None) -> Assessment:
        """Assess the prediction with the held-out labels of the run."""
        return assess(
            self.prepared,
            self.prediction,
            self.choosing_nodes,
            certifying=self.certifying_nodes,
            held_out=self.held_out,
            feature_probabilities=feature_probabilities,
            **self.settings.targets.model_dump(),
        )

    @property
    def choosing_nodes(self) -> Tensor:
        """The nodes whose held-out labels choose and calibrate: validation nodes, or every training node in its fold.

        Where the validation labels are divided, this is one half of them.
        """
        return self.prepared.validation if self.held_out is None else self.prepared.train

    @cached_property
    def certifying_nodes(self) -> Tensor:
        """The validation nodes whose labels certify sets and decisions: the other half, none if it is not divided."""
        return self.settings.data.certifying_nodes(self.graph, seed=self.config["seed"])

    def with_targets(
        self, *, coverage: float | None = None, max_error: float | None = None, delta: float | None = None
    ) -> Run:
        """The same run with other targets of prediction sets and decisions; only what depends on them is computed."""
        changes = {"coverage": coverage, "max_error": max_error, "delta": delta}
        given = {name: value for name, value in changes.items() if value is not None}
        before = self.settings.targets
        targets = validated(Targets, {**before.model_dump(), **given}, where="targets")
        if targets == before:
            return self
        run = copy(self)
        run.settings = replace(self.settings, targets=targets)
        run.config = {**self.config, "targets": targets.model_dump()}
        if self.extended is not None:
            run.extended = self.extended.with_targets(self.prepared, targets)
            run.assessment = run.extended.assessment
        elif "assessment" in self.__dict__:
            run.assessment = _with_targets(self.assessment, self.prepared, before, targets)
        return run

    @cached_property
    def probabilities(self) -> Tensor:
        """Calibrated probabilities, (N, C); columns are those of ``graph.class_names``."""
        if self._calibration is None or "assessment" in self.__dict__:
            return self.assessment.probabilities
        return self._calibration.probabilities(self.prepared, self.prediction)

    @property
    def raw_probabilities(self) -> Tensor:
        """Softmax of the logits, not calibrated, (N, C)."""
        return self.prediction.raw_probabilities

    @property
    def calibration(self) -> Calibration:
        """How logits become probabilities."""
        return self._calibration or self.assessment.calibration

    def predict(self, graph: Any, features: Any = None, *, update_existing: bool = False) -> Run:
        """Join the nodes and edges of another graph to that of the training, by name, and predict the new nodes.

        ``graph`` is anything that ``confgcn.data.formats.registry.raw_graph`` takes. Nodes of the training keep their
        prediction unless ``update_existing``.
        """
        from confgcn.data.formats.registry import raw_graph
        from confgcn.runs.new_nodes import predict_new_nodes

        addition = raw_graph(graph, features, trained=self.graph)
        return predict_new_nodes(self, addition, update_existing=update_existing)

    def explain(self, node: str) -> Explanation:
        """How other nodes change the prediction of a node, given by its name."""
        if node not in self.prepared.node_names:
            raise unknown_name(f"node of {self.prepared.name}", node, self.prepared.node_names)
        return explain(self.method, self.prepared.training_view(), self.prepared.node_names.index(node))

    def read_all(self) -> None:
        """Read and compute everything now, so that the directory is not needed any more."""
        for name in ("graph", "history", "metrics", "prediction", "assessment"):
            getattr(self, name)

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={value!r}" for name, value in self.facts().items())
        return f"Run({facts})"

    def _repr_html_(self) -> str:
        """The run in a notebook."""
        rows = "".join(
            f"<tr><th>{name.replace('_', ' ')}</th><td>{html.escape(str(value))}</td></tr>"
            for name, value in self.facts().items()
        )
        sentences = [*map(notice_text, self.metrics["notices"]), *map(decision_text, self.metrics["decisions"])]
        items = "".join(f"<li>{html.escape(text)}</li>" for text in sentences)
        return f"<b>Run</b><table>{rows}</table><ul>{items}</ul>"

    def facts(self) -> dict[str, str | int | float]:
        """A summary of the run, from what is known without computing anything.

        ``mean_confidence`` is the mean calibrated probability of the predicted label of test nodes: compare it with
        their accuracy.
        """
        metrics, config = self.metrics, self.config
        facts = {name: config[name] for name in ("dataset", "method", "preset", "seed")}
        if "graph" in self.__dict__ or not callable(self._graph):
            facts |= {"nodes": self.graph.num_nodes, "classes": self.graph.num_classes}
        if self.extended is not None:
            facts["new_nodes"] = len(self.extended.extension.new)
        by_class = ["balanced_accuracy"] if metrics.get("imbalanced") else []
        splits, kinds = ("test", "certify", "held_out", "validation"), ("accuracy", *by_class, "roc_auc")
        measured = {f"{split}_{kind}": metrics.get(f"{split}_{kind}") for split in splits for kind in kinds}
        facts |= {name: round(value, 4) for name, value in measured.items() if value is not None}
        if metrics.get("calibrated"):
            facts["mean_confidence"] = round(fmean(g["mean_probability"] for g in metrics["calibrated"]["groups"]), 4)
        if "calibration" in metrics:
            facts["calibration"] = metrics["calibration"]["calibrator"]
        facts |= search_facts(metrics)
        return facts if self.path is None else {**facts, "path": str(self.path)}

    def _naming(self) -> AbstractContextManager[None]:
        """Within, errors name the directory the run was read from."""
        return nullcontext() if self.path is None else naming(self.path)


@dataclass(frozen=True, eq=False)
class ExtendedFrom:
    """How a run was extended by new nodes.

    Attributes:
        run: the run that was extended.
        extension: which nodes are new, and where the others are.
        own: the assessment of all nodes with the edges they have now.
        update_existing: whether nodes of the training are predicted again, or keep their prediction.
    """

    run: Run
    extension: Extension
    own: Assessment
    update_existing: bool

    @property
    def assessment(self) -> Assessment:
        """The assessment of the extended run."""
        return self.own if self.update_existing else _kept(self.own, self.run.assessment, self.extension.known)

    def with_targets(self, graph: Graph, targets: Targets) -> ExtendedFrom:
        """The same for other targets."""
        own = _with_targets(self.own, graph, self.run.settings.targets, targets)
        return replace(self, run=self.run.with_targets(**targets.model_dump()), own=own)


def _with_targets(assessment: Assessment, graph: Graph, before: Targets, targets: Targets) -> Assessment:
    if targets.coverage != before.coverage:
        assessment = assessment.with_coverage(graph, targets.coverage)
    if (targets.max_error, targets.delta) != (before.max_error, before.delta):
        assessment = assessment.with_max_error(targets.max_error, targets.delta)
    return assessment


def _kept(assessment: Assessment, before: Assessment, places: Tensor) -> Assessment:
    """The assessment with that of the nodes of the training in their places."""
    kept = {
        name: getattr(assessment, name).index_copy(0, places, getattr(before, name))
        for name in ("probabilities", "sets", "novelty")
        if getattr(assessment, name) is not None
    }
    if assessment.decision is not None and before.decision is not None:
        accepted = assessment.accepted.index_copy(0, places, before.accepted)[assessment.candidates]
        kept["decision"] = replace(before.decision, accepted=accepted)
    return replace(assessment, **kept)


def finite_prediction(method: AbstractMethod, graph: Graph) -> Prediction:
    """The prediction of a trained method for a prepared graph; an error where a number overflows."""
    prediction = method.predict(graph.training_view())
    for name in ("logits", "mu", "precision", "influence"):
        values = getattr(prediction, name)
        if values is not None and not all_finite(values):
            raise DataError(f"{graph.name}: the prediction ({name}) is not finite: features or weights are too large")
    return prediction
