"""Classifiers of scikit-learn that the default model is compared with.

Their settings are selected in every run by the log loss on the validation nodes, as methods select their epoch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from confgcn.data.transforms import scale_features
from confgcn.evaluation.metrics import log_loss
from confgcn.graph import Graph
from confgcn.sparse import SparseMatrix
from reproduction.jobs import Variant

Array = np.ndarray[Any, Any]

COMPONENTS = 64  # of a truncated singular value decomposition, for boosting on more columns than that
SMALLEST = 1e-12  # probability of a class, so that its logarithm is finite
SETTINGS: dict[str, dict[str, Any]] = {
    "logistic_regression": {"C": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0], "max_iter": 1000},
    "gradient_boosting": {"iterations": 200, "learning_rate": 0.1, "min_samples_leaf": [5, 20]},
}


@dataclass(frozen=True)
class FeatureClassifier(Variant):
    """A classifier of scikit-learn; ``method`` is its name, and the only change is ``feature_scaling``."""

    def described(self, dataset: str) -> dict[str, Any]:
        return {"method": self.method, "preset": self.preset, "model": SETTINGS[self.method], **dict(self.changes)}

    def identity(self, dataset: str) -> list[Any]:
        return [self.method, SETTINGS[self.method], dict(self.changes)]

    def fit(self, graph: Graph, *, seed: int) -> Tensor:
        """Fit to the training nodes; returns the log-probabilities of every node, (N, C)."""
        scaled = scale_features(graph, dict(self.changes).get("feature_scaling", "none"))
        labels = graph.labels[graph.validation]
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an optimiser that has not converged is one more candidate
            candidates = CANDIDATES[self.method](scaled, seed)
            return min(candidates, key=lambda logits: log_loss(logits[graph.validation].exp(), labels))


def _logistic_regression(graph: Graph, seed: int) -> Iterator[Tensor]:
    """L2-regularised logistic regression on the features, for several strengths."""
    from sklearn.linear_model import LogisticRegression

    settings = SETTINGS["logistic_regression"]
    features, train = _features(graph), graph.train.numpy()
    for strength in settings["C"]:
        model = LogisticRegression(C=strength, max_iter=settings["max_iter"], random_state=seed)
        model.fit(features[train], graph.train_labels.numpy())
        yield _all_classes(graph, model.classes_, model.predict_proba(features))


def _gradient_boosting(graph: Graph, seed: int) -> Iterator[Tensor]:
    """Boosted trees on features, means of the neighbours and log degree, after every number of iterations."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    settings = SETTINGS["gradient_boosting"]
    columns, train = neighbourhood_columns(graph, seed=seed), graph.train.numpy()
    for smallest in settings["min_samples_leaf"]:
        model = HistGradientBoostingClassifier(
            max_iter=settings["iterations"],
            learning_rate=settings["learning_rate"],
            min_samples_leaf=smallest,
            early_stopping=False,
            random_state=seed,
        )
        model.fit(columns[train], graph.train_labels.numpy())
        for probabilities in model.staged_predict_proba(columns):
            yield _all_classes(graph, model.classes_, probabilities)


CANDIDATES: dict[str, Callable[[Graph, int], Iterator[Tensor]]] = {
    "logistic_regression": _logistic_regression,
    "gradient_boosting": _gradient_boosting,
}


def neighbourhood_columns(graph: Graph, *, seed: int) -> Array:
    """Features, their means over the neighbours and log(1 + degree), (N, 2 F + 1).

    More than ``COMPONENTS`` features are first reduced to that number by a truncated singular value decomposition of
    the features of all nodes. A node without neighbours has means of zero.
    """
    from sklearn.decomposition import TruncatedSVD

    features = _features(graph)
    if features.shape[1] > COMPONENTS:
        features = TruncatedSVD(COMPONENTS, random_state=seed).fit_transform(features)
    dense = features if isinstance(features, np.ndarray) else features.toarray()
    weights = graph.neighbour_weights.to_scipy()
    totals = np.asarray(weights.sum(axis=1)).ravel()
    means = (weights @ dense) / np.where(totals > 0, totals, 1.0)[:, None]
    return np.column_stack([dense, means, np.log1p(graph.degrees.numpy())])


def _features(graph: Graph) -> Any:
    """A numpy array or a scipy sparse matrix."""
    features = graph.features
    return features.to_scipy() if isinstance(features, SparseMatrix) else features.numpy()


def _all_classes(graph: Graph, classes: Array, probabilities: Array) -> Tensor:
    """Log-probabilities of every class of the graph, also of those without a training node."""
    complete = np.full((len(probabilities), graph.num_classes), SMALLEST)
    complete[:, classes] = np.maximum(probabilities, SMALLEST)
    return torch.from_numpy(complete / complete.sum(axis=1, keepdims=True)).log()
