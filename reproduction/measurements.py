"""What is kept of a run: its accuracy, where in the graph it is right, and what its confidences do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from confgcn.evaluation.edges import summarise_influence
from confgcn.evaluation.groups import neighbour_label_entropy, quartile_means
from confgcn.evaluation.metrics import accuracy
from confgcn.graph import Graph
from confgcn.models.base import Prediction, require
from confgcn.runs.saved import SavedRun, load_run
from reproduction.confidence_measurements import Confidences, measure_confidences
from reproduction.jobs import Kind

Quarters = tuple[float, ...]


@dataclass(frozen=True)
class Measurements:
    """Numbers of one run; None where the method has no such quantity. Quarters go from lowest to highest.

    Attributes:
        processor_seconds: of reading, training and predicting, with one thread; None for a run that was taken up again.
        accuracy_by_entropy, accuracy_by_degree: in each quarter of the test nodes.
        mean_probability, accuracy_by_probability: in each quarter of the test nodes by probability.
        auroc_probability, auroc_precision: do they tell right predictions from wrong ones? 0.5 is a coin.
        mu_accuracy: of the largest label score as a prediction.
        changed_by_uniform: predictions of all nodes that change when the trained model's influences are made uniform.
        accuracy_made_uniform: test accuracy of the trained model with such influences.
        neighbours, effective_neighbours, influence_deviation, auroc_influence, influence_by_precision: see
            ``confgcn.evaluation.edges``.
    """

    test_accuracy: float | None = None
    validation_accuracy: float | None = None
    best_epoch: float | None = None
    epochs: float | None = None
    processor_seconds: float | None = None
    accuracy_by_entropy: Quarters | None = None
    accuracy_by_degree: Quarters | None = None
    mean_probability: Quarters | None = None
    accuracy_by_probability: Quarters | None = None
    auroc_probability: float | None = None
    auroc_precision: float | None = None
    mu_accuracy: float | None = None
    changed_by_uniform: float | None = None
    accuracy_made_uniform: float | None = None
    neighbours: float | None = None
    effective_neighbours: float | None = None
    influence_deviation: float | None = None
    auroc_influence: float | None = None
    influence_by_precision: Quarters | None = None

    def get(self, name: str) -> Any:
        """The number, or the quarters, of that name."""
        return getattr(self, name)

    def cells(self) -> list[Any]:
        """In the order of ``NAMES``."""
        return list(asdict(self).values())


NAMES = tuple(field.name for field in fields(Measurements))


def measure(run: Path, graph: Graph, metrics: dict[str, Any], processor_seconds: float | None) -> Measurements:
    """Everything about a finished run."""
    saved = load_run(run)
    prediction = saved.predict(graph)
    right = (prediction.logits.argmax(-1) == graph.labels)[graph.test].double()
    confidence = metrics["confidence"]
    found: dict[str, Any] = {
        name: metrics[name] for name in ("test_accuracy", "validation_accuracy", "best_epoch", "epochs")
    }
    found |= {
        "processor_seconds": processor_seconds,
        "accuracy_by_entropy": tuple(quartile_means(right, neighbour_label_entropy(graph)[graph.test])),
        "accuracy_by_degree": tuple(quartile_means(right, graph.degrees[graph.test])),
        "mean_probability": tuple(quarter["mean_probability"] for quarter in confidence["groups"]),
        "accuracy_by_probability": tuple(quarter["accuracy"] for quarter in confidence["groups"]),
        "auroc_probability": confidence["auroc_probability"],
        "auroc_precision": confidence["auroc_precision"],
    }
    if prediction.mu is not None:
        found["mu_accuracy"] = accuracy(prediction.mu[graph.test], graph.labels[graph.test])
    return Measurements(**found, **_influence(saved, graph, prediction))


def _influence(saved: SavedRun, graph: Graph, prediction: Prediction) -> dict[str, Any]:
    control = saved.method.with_uniform_influence()
    if control is None:
        return {}
    influence, precision = require(prediction.influence), require(prediction.precision)
    summary = asdict(summarise_influence(graph, influence, precision))
    uniform = replace(saved, method=control).predict(graph).logits
    return {
        "changed_by_uniform": int((uniform.argmax(-1) != prediction.logits.argmax(-1)).sum()),
        "accuracy_made_uniform": accuracy(uniform[graph.test], graph.labels[graph.test]),
        "neighbours": summary["neighbours"],
        "effective_neighbours": summary["effective_neighbours"],
        "influence_deviation": summary["deviation"],
        "auroc_influence": summary["auroc_same_label"],
        "influence_by_precision": tuple(summary["by_precision"]),
    }


# What is measured of a run of each kind, from its folder, its graph as it was loaded, its metrics and its seconds.
MEASURES: dict[Kind, Callable[[Path, Graph, dict[str, Any], float | None], Measurements | Confidences]] = {
    "paper": measure,
    "confidence": measure_confidences,
}
