"""What a user should know about the result of a run, as records of numbers for metrics.json.

``confgcn.report.formatting.notice_text`` turns a record into a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from confgcn.confidence.assessment import HeldOutLabels
from confgcn.evaluation.metrics import accuracy, log_loss
from confgcn.graph import Graph

FEWEST_NODES = 20  # predicted or held out: of fewer, these observations are chance
ROUNDING = 1e-9  # where one label differs, the mean of the differences equals its standard error

Notice = dict[str, Any]


def result_notices(graph: Graph, logits: Tensor, held_out: HeldOutLabels, by_features: Tensor | None) -> list[Notice]:
    """All that apply to a prediction of every node, ``logits`` (N, C).

    - ``one_class``: every node that was not trained on is predicted as ``label``.
    - ``no_better_than_majority``: the ``accuracy`` on the held-out labels is at most ``majority_accuracy``, that of
      always predicting ``label``, the largest class of the training labels (of equal ones, the best).
    - ``no_better_than_features``: a linear model of the features is clearly better (:func:`is_clearly_better`).

    ``by_features`` are the probabilities of the held-out nodes by that model, (n, C), or None.
    """
    predicted = logits.argmax(-1)[_not_trained_on(graph)]
    notices = list(_one_class(graph, predicted))
    if len(held_out.labels) >= FEWEST_NODES:
        notices += _majority(graph, held_out)
        if by_features is not None:
            notices += _features(held_out, by_features)
    return notices


def _not_trained_on(graph: Graph) -> Tensor:
    return torch.ones(graph.num_nodes, dtype=torch.bool).index_fill_(0, graph.train, False)


def _one_class(graph: Graph, predicted: Tensor) -> Iterator[Notice]:
    if len(predicted) >= FEWEST_NODES and bool((predicted == predicted[0]).all()):
        yield {"code": "one_class", "label": graph.class_names[int(predicted[0])], "nodes": len(predicted)}


def _majority(graph: Graph, held_out: HeldOutLabels) -> Iterator[Notice]:
    counts = torch.bincount(graph.train_labels, minlength=graph.num_classes)
    held_out_counts = torch.bincount(held_out.labels, minlength=graph.num_classes)
    largest = int(torch.where(counts == counts.max(), held_out_counts, -1).argmax())
    reached = accuracy(held_out.probabilities, held_out.labels)
    of_majority = float((held_out.labels == largest).double().mean())
    if reached <= of_majority:
        yield {
            "code": "no_better_than_majority",
            "label": graph.class_names[largest],
            "accuracy": reached,
            "majority_accuracy": of_majority,
            "held_out_labels": len(held_out.labels),
        }


def _features(held_out: HeldOutLabels, by_features: Tensor) -> Iterator[Notice]:
    labels = held_out.labels
    if is_clearly_better(by_features, held_out.probabilities, labels):
        yield {
            "code": "no_better_than_features",
            "accuracy": accuracy(held_out.probabilities, labels),
            "features_accuracy": accuracy(by_features, labels),
            "log_loss": log_loss(held_out.probabilities, labels),
            "features_log_loss": log_loss(by_features, labels),
            "held_out_labels": len(labels),
        }


def is_clearly_better(probabilities: Tensor, other: Tensor, labels: Tensor) -> bool:
    """Is the accuracy clearly higher, or the log loss clearly lower and the accuracy not clearly lower?

    Clearly: by more than one standard error of the mean of the differences over labels. Shapes: (n, C), (n, C), (n,).
    """
    right, other_right = ((p.argmax(-1) == labels).double() for p in (probabilities, other))
    gain, error = mean_and_error(right - other_right)
    if abs(gain) > error:
        return gain > 0
    gain, error = mean_and_error(label_losses(other, labels) - label_losses(probabilities, labels))
    return gain > error


def label_losses(probabilities: Tensor, labels: Tensor) -> Tensor:
    """The log loss of each label, (n,)."""
    rows = probabilities.double().gather(1, labels[:, None]).squeeze(1)
    return -rows.clamp(min=torch.finfo(torch.float64).tiny).log()


def mean_and_error(differences: Tensor) -> tuple[float, float]:
    """The mean over labels and its standard error; for two models, of the differences of their losses (n,)."""
    error = float(differences.std()) / math.sqrt(len(differences))
    return float(differences.mean()), error * (1.0 + ROUNDING)
