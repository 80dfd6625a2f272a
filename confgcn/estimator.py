"""ConfGCNClassifier: node classification with the interface of scikit-learn."""

from __future__ import annotations

import html
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

from confgcn.confidence.explanations import Explanation
from confgcn.data.formats.registry import raw_graph
from confgcn.data.input_files import naming
from confgcn.data.labels import LabelValues, label_texts
from confgcn.data.raw import RawGraph
from confgcn.exceptions import CorruptFileError, DataError, ResultWarning, UsageError, brief
from confgcn.graph import Graph
from confgcn.io.threads import computing_with
from confgcn.limits import MAX_SPLIT_SEED
from confgcn.report.formatting import decision_text, notice_text
from confgcn.runs.directory import RunDirectory, claimed
from confgcn.runs.graph_input import InMemoryGraph
from confgcn.runs.new_nodes import predict_new_nodes
from confgcn.runs.records import EstimatorRecord, plain
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.saved import load_run, save_run
from confgcn.runs.stored_graph import Shares
from confgcn.runs.train import fit_in_memory
from confgcn.training.seed import seeded

Array = npt.NDArray[Any]


class LabelConfidence(NamedTuple):
    """Label scores and their precisions, (N, C) each; columns are those of ``classes_``."""

    mu: Array
    precision: Array


class Accepted(NamedTuple):
    """Which predictions can be accepted without review, (N,), and the guarantee as a sentence."""

    accepted: Array
    message: str


class ConfGCNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the labels of the nodes of a graph from a few known labels, with calibrated confidences.

    Args:
        preset: named settings of the method; see ``docs/choosing.md``.
        method: a name listed by ``confgcn methods``.
        random_state: seed of all random numbers; the same seed gives the same result.
        settings: mapping of settings that replace the preset's, such as ``{"epochs": 200}``.
        add_features: any of "degree", "positional" and "identity": features computed from the graph.
        validation, test: shares of the labels to hold out. Without validation nodes each label is held out in turn.
        threads: number of threads to compute with.
        device: torch device to train on, such as "cuda"; predictions are computed on the CPU. Other devices have
            not been tested on real hardware yet.

    Attributes:
        classes_: the labels as they were given; columns of results are in this order.
        nodes_: the names of the nodes as they were given; rows of results are in this order.
        n_features_in_: features per node.
        run_: the :class:`~confgcn.runs.run.Run`, with metrics, history, predictions and their assessment.
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
        included. ``notify`` is called with each notice; without it, notices about the result are warnings.
        """
        if getattr(y, "ndim", 1) == 2:
            message = "A column-vector y was passed when a 1d array was expected: it is read as (N,)"
            warnings.warn(message, DataConversionWarning, stacklevel=2)
        raw = raw_graph(graph, X, y)
        built = self._built(raw)
        request = self._request(built)
        notify_input = notify or (lambda _: None)
        for notice in built.notices():
            notify_input(notice)
        with computing_with(plain(self.threads)):
            loaded = request.graph_input.load(request.split_seed_of(0))
            run = fit_in_memory(loaded, request.settings(), run_config(request), notify=notify_input)
        self._set_fitted(run, raw.ids, LabelValues.of(y, built.class_names))
        for text in map(notice_text, run.metrics["notices"]):
            if notify is None:
                warnings.warn(text, ResultWarning, stacklevel=2)
            else:
                notify(text)
        return self

    def predict(self, graph: Any = None, X: Any = None, *, update_existing: bool = False) -> Array:
        """The label of every node: of the graph of the training, or of another graph, whose nodes may be new.

        The nodes and edges of another graph are joined to that of the training by the nodes' names; rows follow
        ``graph``. Nodes of the training keep their prediction unless ``update_existing``.
        """
        run, rows = self._predicted(graph, X, update_existing=update_existing)
        return self._labels(run, rows)

    def predict_proba(self, graph: Any = None, X: Any = None, *, update_existing: bool = False) -> Array:
        """Calibrated probabilities, (N, C); columns are those of ``classes_``."""
        run, rows = self._predicted(graph, X, update_existing=update_existing)
        return run.probabilities[rows].numpy()

    def confidence(self, graph: Any = None, X: Any = None) -> LabelConfidence:
        """The score of each label and its precision."""
        run, rows = self._predicted(graph, X)
        mu, precision = run.prediction.mu, run.prediction.precision
        if mu is None or precision is None:
            raise UsageError(f"method {self.method} has no confidence per label; method confgcn has")
        return LabelConfidence(mu[rows].numpy(), precision[rows].clamp(min=0.0).numpy())

    def predict_set(self, graph: Any = None, X: Any = None, *, coverage: float | None = None) -> list[tuple[Any, ...]]:
        """For every node a set of labels that contains the true one with probability ``coverage``, likeliest first.

        The default is that of the settings, 0.9. The coverage is exact where validation labels are divided, as the
        default preset does with 60 or more, else approximate.
        """
        run, rows = self._predicted(graph, X)
        sets = run.with_targets(coverage=coverage).assessment.sets
        if sets is None:
            raise DataError(
                "no label was held out, so coverage cannot be estimated: set validation=0.2, or give validation nodes"
            )
        order = run.probabilities[rows].argsort(dim=-1, descending=True, stable=True)
        inside = sets[rows].gather(1, order)
        return [tuple(self.classes_[row[held].numpy()].tolist()) for row, held in zip(order, inside, strict=True)]

    def decide(
        self, graph: Any = None, X: Any = None, *, max_error: float | None = None, delta: float | None = None
    ) -> Accepted:
        """Which labels can be accepted: with probability 1 - ``delta`` at most ``max_error`` of them are wrong.

        The defaults are those of the settings, 0.05 and 0.1. The guarantee is certified where validation labels are
        divided, as the default preset does with 60 or more, else approximate, as the message says.
        """
        run, rows = self._predicted(graph, X)
        assessment = run.with_targets(max_error=max_error, delta=delta).assessment
        if assessment.decision is None and len(assessment.candidates):
            raise DataError(
                "no label was held out, so nothing can be certified: set validation=0.2, or give validation nodes"
            )
        if assessment.decision is None:
            message = "every node was trained on: there is nothing to accept"
        else:
            message = decision_text(assessment.decision.as_record())
        return Accepted(assessment.accepted[rows].numpy(), message)

    def explain(self, node: Any) -> Explanation:
        """How other nodes change the prediction for a node of the training, given by its name."""
        with computing_with(plain(self.threads)):
            return self._run.explain(str(node))

    def score(self, graph: Any = None, X: Any = None, y: Any = None) -> float:
        """Accuracy on the nodes whose label ``y``, by default the graph's, is known and was not used.

        Labels that were trained on, or that select the weights, calibrate or certify, were used.
        """
        own = self._run.prepared
        places = torch.cat([own.train, own.validation, self._run.certifying_nodes])
        used = {own.node_names[place] for place in places.tolist()}
        if graph is not None:
            addition = raw_graph(graph, X, y, trained=self._run.graph)
            names: Sequence[str] = addition.ids
            labels = addition.labels if addition.labels is not None else [None] * len(names)
        else:
            names, addition = self.nodes_.tolist(), None
            labels = self._own_labels() if y is None else label_texts(y, len(names))
        known = [row for row, text in enumerate(labels) if text is not None and names[row] not in used]
        if not known:
            raise DataError(
                "nothing to score: no node has a label that was not used; hold some out with test=0.2, or pass y"
            )
        run, rows = self._predicted(addition, None if addition is not None else X)
        texts = dict(zip(self.classes_.tolist(), own.class_names, strict=True))
        predicted = [texts[value] for value in self._labels(run, rows).tolist()]
        return float(np.mean([predicted[row] == labels[row] for row in known]))

    def save(self, directory: Path | str) -> None:
        """Write a run directory, which every command can read; nothing in it is executed when it is loaded."""
        target = RunDirectory(Path(directory))
        params = {**self.get_params(), "add_features": self._structural}
        record = EstimatorRecord(params, self._order.tolist(), self._values)
        with claimed(target.path, if_exists="refuse"):
            target.start(self._run.config)
            record.write(target.estimator)
            save_run(target, self._run)  # with metrics.json last, which marks the run as complete

    @classmethod
    def load(cls, directory: Path | str) -> Self:
        """Read the run directory of :meth:`save` or ``confgcn train``; rows of the latter are in natural order."""
        target = RunDirectory(Path(directory))
        run = load_run(target.path)
        run.read_all()
        if target.estimator.is_file():
            record = EstimatorRecord.read(target.estimator, num_nodes=run.graph.num_nodes)
        else:
            with naming(target.path):
                record = EstimatorRecord.of_run(run)
        try:
            estimator = cls(**record.params)
            estimator._request(run.graph).settings()
            estimator._set_fitted(run, [run.graph.node_names[place] for place in record.order], record.values)
        except (TypeError, ValueError) as error:
            problem = f"{target.estimator}: describes no estimator of this run ({brief(error)})"
            raise CorruptFileError(problem) from None
        return estimator

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        parameters: str = super().__repr__(N_CHAR_MAX)
        return f"{parameters}, fitted: {self.run_!r}" if hasattr(self, "run_") else parameters

    def _html_repr(self) -> str:
        """The parameters and, of a fitted classifier, the run in a notebook (scikit-learn calls this)."""
        parameters = f"<pre>{html.escape(super().__repr__())}</pre>"
        return parameters + (self.run_._repr_html_() if hasattr(self, "run_") else "not fitted")

    def __sklearn_tags__(self) -> Tags:
        """Scikit-learn's checks must pass a graph instead of a table, with labels in it or beside it."""
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.target_tags.required = False
        return tags

    def _built(self, raw: RawGraph) -> Graph:
        """The graph to train on, with the added features."""
        if raw.features is None and not self._structural:
            raise DataError(
                "there are no features: pass X, one row per node, or compute some from the graph, such as "
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
        return replace(request, split_seed=request.seed % (MAX_SPLIT_SEED + 1))  # random_state seeds the split as well

    def _set_fitted(self, run: Run, names: Sequence[str], values: LabelValues) -> None:
        self.run_ = run
        self.nodes_ = np.array(list(names), dtype=object)
        self.classes_ = values.array(run.graph.class_names)
        self.n_features_in_ = run.graph.num_features
        self._values = values

    @property
    def _run(self) -> Run:
        if not hasattr(self, "run_"):
            raise NotFittedError("this ConfGCNClassifier is not fitted yet: call fit or load first")
        return self.run_

    @property
    def _structural(self) -> tuple[str, ...]:
        return (self.add_features,) if isinstance(self.add_features, str) else tuple(self.add_features)

    @property
    def _order(self) -> Tensor:
        """The position of each node in the graph, in the order the nodes were given in."""
        place = {name: position for position, name in enumerate(self._run.graph.node_names)}
        return torch.tensor([place[name] for name in self.nodes_])

    def _own_labels(self) -> list[str | None]:
        own = self._run.graph
        return [None if label < 0 else own.class_names[label] for label in own.labels[self._order].tolist()]

    def _labels(self, run: Run, rows: Tensor) -> Array:
        labels: Array = self.classes_[run.prediction.logits[rows].argmax(-1).numpy()]
        return labels

    def _predicted(self, graph: Any, features: Any, *, update_existing: bool = False) -> tuple[Run, Tensor]:
        """The run that predicts the nodes of a graph, None for that of the training, and the rows of these nodes."""
        run = self._run
        if graph is None and features is not None:
            raise UsageError("X was passed without a graph: pass both, or none for the nodes of the training")
        if graph is None:
            return run, self._order
        with computing_with(plain(self.threads)), seeded(run.config["seed"]):
            addition = raw_graph(graph, features, trained=run.graph)
            extended = predict_new_nodes(run, addition, update_existing=update_existing)
        assert extended.extended is not None
        return extended, extended.extended.extension.listed
