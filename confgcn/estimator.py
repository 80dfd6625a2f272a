"""ConfGCNClassifier: labels for the rest of a graph in the manner of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils import Tags
from torch import Tensor

from confgcn.confidence.assessment import COVERAGE, DELTA, MAX_ERROR, Assessment
from confgcn.confidence.explanations import Explanation, explain
from confgcn.data.formats.registry import raw_graph
from confgcn.data.input_files import naming
from confgcn.data.label_texts import label_texts
from confgcn.data.label_values import LabelValues
from confgcn.data.raw import RawGraph
from confgcn.exceptions import CorruptFileError, DataError, UsageError, brief, unknown_name
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.limits import MAX_SPLIT_SEED
from confgcn.models.base import Prediction
from confgcn.report.formatting import decision_text
from confgcn.runs.directory import RunDirectory, claimed
from confgcn.runs.estimator_record import EstimatorRecord, plain
from confgcn.runs.finished_run import FinishedRun
from confgcn.runs.graph_input import InMemoryGraph
from confgcn.runs.new_nodes import predict_new_nodes
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.saved import as_saved, finished_run, keep_run
from confgcn.runs.stored_graph import Shares
from confgcn.runs.train import fit_in_memory
from confgcn.training.seed import seeded

Array = npt.NDArray[Any]


class LabelConfidence(NamedTuple):
    """What the model holds of every label of every node, (N, C) each; columns are those of ``classes_``."""

    mu: Array
    precision: Array


class Accepted(NamedTuple):
    """Which predictions may be taken without a look, (N,), and what is promised, in words."""

    accepted: Array
    message: str


class ConfGCNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Label the nodes of a graph from a few labels, with confidences to act on.

    Args:
        preset: named settings of the method; ``docs/choosing.md`` says which.
        method: one of ``confgcn methods``.
        random_state: seed of everything that is drawn; the same one gives the same result.
        settings: mapping of settings that replace the preset's, such as ``{"epochs": 200}``.
        add_features: of "degree", "positional" and "identity": features that the graph gives by itself.
        validation, test: shares of the labels to hold out. Without validation nodes each label is held out in turn.
        threads: to compute with.
        device: of torch, to train on, such as "cuda"; predictions are computed on the CPU. Devices other than the CPU
            have not been tried on real hardware yet.

    Attributes:
        classes_: the labels, as they were given, in the order of all columns.
        nodes_: the names of the nodes, in the order of all rows: the order they were given in.
        n_features_in_: features per node.
        run_: the finished run, with ``metrics``, ``history`` and everything else that was found.
    """

    def __init__(
        self,
        preset: str = "default",
        *,
        method: str = "confgcn",
        random_state: int = 0,
        settings: Mapping[str, Any] | None = None,
        add_features: Sequence[str] = (),
        validation: float = 0.0,
        test: float = 0.0,
        threads: int = 1,
        device: str = "cpu",
    ) -> None:
        self.preset = preset
        self.method = method
        self.random_state = random_state
        self.settings = settings
        self.add_features = add_features
        self.validation = validation
        self.test = test
        self.threads = threads
        self.device = device

    def fit(self, graph: Any, X: Any = None, y: Any = None, *, notify: Callable[[str], None] | None = None) -> Self:
        """Train on a graph with features ``X`` (N, F) and labels ``y`` (N,): -1, NaN, None or "" is unlabelled.

        ``graph`` is anything that ``confgcn.data.formats.registry.raw_graph`` takes, features and labels in it
        included. ``notify`` is told what a user should know.
        """
        if getattr(y, "ndim", 1) == 2:
            message = "A column-vector y was passed when a 1d array was expected: it is read as (N,)"
            warnings.warn(message, DataConversionWarning, stacklevel=2)
        raw = raw_graph(graph, X, y)
        built = self._built(raw)
        request = self._request(built)
        tell = notify or (lambda _: None)
        for notice in built.notices():
            tell(notice)
        with computing_with(plain(self.threads)):
            loaded = request.graph_input.load(request.split_seed_of(0))
            run = fit_in_memory(loaded, request.settings(), run_config(request), notify=tell)
        self._take(run, raw.ids, LabelValues.of(y, built.class_names))
        return self

    def predict(self, graph: Any = None, X: Any = None, *, update_existing: bool = False) -> Array:
        """The label of every node: of the graph of the training, or of one whose nodes may be new.

        What a new graph lists is joined to that of the training by the nodes' names; rows follow ``graph``. Nodes that
        were there at training keep what was said of them unless ``update_existing``.
        """
        prediction, _, rows = self._answers(graph, X, update_existing=update_existing)
        labels: Array = self.classes_[prediction.logits[rows].argmax(-1).numpy()]
        return labels

    def predict_proba(self, graph: Any = None, X: Any = None, *, update_existing: bool = False) -> Array:
        """Calibrated probabilities, (N, C); columns are those of ``classes_``."""
        _, assessment, rows = self._answers(graph, X, update_existing=update_existing)
        return assessment.probabilities[rows].numpy()

    def confidence(self, graph: Any = None, X: Any = None) -> LabelConfidence:
        """Label scores and their precisions, per label."""
        prediction, _, rows = self._answers(graph, X)
        if prediction.mu is None or prediction.precision is None:
            raise UsageError(f"method {self.method} holds no confidence of single labels; confgcn does")
        return LabelConfidence(prediction.mu[rows].numpy(), prediction.precision[rows].clamp(min=0.0).numpy())

    def predict_set(self, graph: Any = None, X: Any = None, *, coverage: float = COVERAGE) -> list[tuple[Any, ...]]:
        """For every node the labels that hold the true one as often as ``coverage``, likeliest first."""
        _, assessment, rows = self._answers(graph, X, coverage=coverage)
        if assessment.sets is None:
            raise DataError("no label was held out, so that nothing can be said of coverage: give validation nodes")
        order = assessment.probabilities[rows].argsort(dim=-1, descending=True, stable=True)
        inside = assessment.sets[rows].gather(1, order)
        return [tuple(self.classes_[row[held].numpy()].tolist()) for row, held in zip(order, inside, strict=True)]

    def decide(
        self, graph: Any = None, X: Any = None, *, max_error: float = MAX_ERROR, delta: float = DELTA
    ) -> Accepted:
        """Which labels may be accepted at an error of at most ``max_error``, with certainty 1 - ``delta``."""
        _, assessment, rows = self._answers(graph, X, max_error=max_error, delta=delta)
        if assessment.decision is None and len(assessment.candidates):
            raise DataError("no label was held out, so that nothing can be certified: give validation nodes")
        nothing = "every node was trained on: there is nothing to accept"
        message = (
            nothing
            if assessment.decision is None
            else f"{decision_text(assessment.decision.as_record())} (approximate)"
        )
        return Accepted(assessment.accepted[rows].numpy(), message)

    def explain(self, node: Any) -> Explanation:
        """Which neighbours speak for and against the label of a node of the training, given by its name."""
        names = self._run.prepared.node_names
        if str(node) not in names:
            raise unknown_name("node", str(node), names)
        with computing_with(plain(self.threads)):
            return explain(self._run.method, self._run.prepared.training_view(), names.index(str(node)))

    def score(self, graph: Any = None, X: Any = None, y: Any = None) -> float:
        """Accuracy over the nodes whose label ``y`` is known and was not used; ``y`` by default the graph's.

        Used are the labels that were trained on, and those that the weights were selected by.
        """
        own = self._run.prepared
        used = {own.node_names[place] for place in (*own.train.tolist(), *own.validation.tolist())}
        names, told = self._told(graph, X, y)
        asked = [row for row, text in enumerate(told) if text is not None and names[row] not in used]
        if not asked:
            raise DataError(
                "nothing to score: no node has a label that was not used; hold some out with test=0.2, or pass y"
            )
        texts = dict(zip(self.classes_.tolist(), self._run.graph.class_names, strict=True))
        predicted = [texts[value] for value in self.predict(graph, X).tolist()]
        return float(np.mean([predicted[row] == told[row] for row in asked]))

    def save(self, directory: Path | str) -> None:
        """Write a run directory, which every command reads too; nothing in it is executed when it is loaded."""
        target = RunDirectory(Path(directory))
        params = {**self.get_params(), "add_features": self._structural}
        record = EstimatorRecord(params, self._order.tolist(), self._values)
        with claimed(target.path, if_exists="refuse"):
            target.start(self._run.config)
            record.write(target.estimator)
            keep_run(target, self._run)  # metrics.json, which says that all is there, comes last

    @classmethod
    def load(cls, directory: Path | str) -> Self:
        """Read what :meth:`save` or ``confgcn train`` wrote; the rows of a run by the latter are in natural order."""
        target = RunDirectory(Path(directory))
        run = finished_run(target.path)
        if target.estimator.is_file():
            record = EstimatorRecord.read(target.estimator, num_nodes=run.graph.num_nodes)
        else:
            with naming(target.path):
                record = EstimatorRecord.of_run(run)
        try:
            estimator = cls(**record.params)
            estimator._request(run.graph).settings()
            estimator._take(run, [run.graph.node_names[place] for place in record.order], record.values)
        except (TypeError, ValueError) as error:
            problem = f"{target.estimator}: describes no estimator of this run ({brief(error)})"
            raise CorruptFileError(problem) from None
        return estimator

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn may expect: a graph and no table of rows, with labels in it or beside it."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags

    def _built(self, raw: RawGraph) -> Graph:
        """The graph to train on, with the features that were asked for."""
        if raw.features is None and not self._structural:
            raise DataError(
                "there are no features: pass X, one row per node, or have some made from the graph, such as "
                'add_features=["degree", "positional"]'
            )
        if raw.labels is None:
            raise DataError(
                "ConfGCNClassifier requires y to be passed, but the target y is None, and the graph holds no labels"
            )
        return raw.build(self._structural)

    def _request(self, graph: Graph) -> RunRequest:
        settings = {} if self.settings is None else self.settings
        if not isinstance(settings, Mapping):
            raise UsageError(f'settings = {settings!r}: expected a mapping, such as {{"epochs": 200}}')
        request = RunRequest(
            InMemoryGraph(graph, Shares(self.validation, self.test)),
            method=self.method,
            preset=self.preset,
            seed=plain(self.random_state),
            threads=plain(self.threads),
            device=plain(self.device),
            overrides=plain(settings),
        )
        return replace(request, split_seed=request.seed % (MAX_SPLIT_SEED + 1))  # random_state seeds the split too

    def _take(self, run: FinishedRun, names: Sequence[str], values: LabelValues) -> None:
        """Be fitted."""
        self.run_ = run
        self.nodes_ = np.array(list(names), dtype=object)
        self.classes_ = values.array(run.graph.class_names)
        self.n_features_in_ = run.graph.num_features
        self._values = values

    @property
    def _run(self) -> FinishedRun:
        if not hasattr(self, "run_"):
            raise NotFittedError("this ConfGCNClassifier is not fitted yet: call fit or load first")
        return self.run_

    @property
    def _structural(self) -> tuple[str, ...]:
        return (self.add_features,) if isinstance(self.add_features, str) else tuple(self.add_features)

    @property
    def _order(self) -> Tensor:
        """Where each node stands, in the order that they were given in."""
        place = {name: position for position, name in enumerate(self._run.graph.node_names)}
        return torch.tensor([place[name] for name in self.nodes_])

    def _told(self, graph: Any, features: Any, y: Any) -> tuple[Sequence[str], Sequence[str | None]]:
        """The names of the nodes that are asked for, and what their labels are said to be."""
        if graph is not None:
            raw = raw_graph(graph, features, y)
            return raw.ids, raw.labels if raw.labels is not None else [None] * len(raw.ids)
        if y is not None:
            return self.nodes_.tolist(), label_texts(y, len(self.nodes_))
        own = self._run.graph
        texts = [None if label < 0 else own.class_names[label] for label in own.labels[self._order].tolist()]
        return self.nodes_.tolist(), texts

    def _answers(
        self, graph: Any, features: Any, *, update_existing: bool = False, **asked: float
    ) -> tuple[Prediction, Assessment, Tensor]:
        """What is predicted, what to make of it, and the rows that were asked for."""
        run = self._run
        if graph is None and features is not None:
            raise UsageError("X was passed without a graph: pass both, or none for the nodes of the training")
        with computing_with(plain(self.threads)):
            if graph is None:
                assessment = as_saved(run).assessed(run.graph, **asked)[2] if asked else run.assessment
                return run.prediction, assessment, self._order
            addition = raw_graph(graph, features, trained=run.graph)
            with seeded(run.config["seed"]):
                found = predict_new_nodes(as_saved(run), run.graph, addition, update_existing=update_existing, **asked)
        return found.prediction, found.assessment, found.extension.listed
