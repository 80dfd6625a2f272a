"""Numbers of a made-up run, as the functions of the report expect them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

PageNumbers = Callable[..., dict[str, Any]]


def decision_record(**changed: Any) -> dict[str, Any]:
    """A certified decision as it stands in metrics.json."""
    record = {"max_error": 0.05, "delta": 0.1, "certified": True, "threshold": 0.8, "accepted": 3, "candidates": 5}
    known = {"held_out_labels": 100, "observed_error": 0.01, "labels_needed": None, "approximate": False}
    return {**record, **known, **changed}


@pytest.fixture(scope="session")
def page_numbers() -> PageNumbers:
    """Names of nodes and classes, and undirected edges, with drawn quantities around them."""
    return made_up


@pytest.fixture
def numbers() -> dict[str, Any]:
    """A made-up run on six nodes and four edges."""
    return made_up([f"n{i}" for i in range(6)], ["x", "y", "z"], [(0, 1), (1, 2), (2, 3), (1, 3)])


def made_up(
    names: Sequence[str], classes: Sequence[str], edges: Sequence[tuple[int, int]], *, graph: str = "made up"
) -> dict[str, Any]:
    random, size, width = np.random.default_rng(0), len(names), len(classes)
    probability = random.dirichlet(np.full(width, 0.4), size)
    confidence = probability.max(1)
    order = np.argsort(confidence, kind="stable").tolist()
    both = np.array([*edges, *((v, u) for u, v in edges)], dtype=np.int64).reshape(-1, 2)
    influence = random.random(len(both))
    both_order = np.lexsort((-influence, both[:, 0]))
    both, influence = both[both_order], influence[both_order]
    degree = np.bincount(both[:, 0], minlength=size)
    bins = [{"count": 5, "confidence": 0.4, "accuracy": 0.5, "low": 0.2, "high": 0.8}]
    bins += [{"count": 9, "confidence": 0.9, "accuracy": 0.6, "low": 0.7, "high": 1.0}]
    curve = {"reliability": bins, "risk_coverage": {"coverage": [0.5, 1.0], "risk": [0.1, 0.25]}}
    groups = [
        {"name": f"{kind}_q{k}", "count": 3, "accuracy": 0.7, "confidence": 0.6 + k / 20}
        for kind in ("degree", "entropy")
        for k in (1, 2, 4)
    ]
    card = {"accuracy": 0.75, "nll": 0.6, "brier": 0.3, "ece": 0.05, "ece_floor": 0.02, "auroc_correct": 0.8}
    card |= {"balanced_accuracy": 0.65, "roc_auc": 0.875 if width == 2 else None}
    label = probability.argmax(1).tolist()
    first = {"node": names[0], "place": 0}
    return {
        "about": {
            "graph": graph,
            "method": "confgcn",
            "preset": "default",
            "seed": 3,
            "date": "2026-01-02",
            "version": "1.2.3",
            "predicted": size - 1,
            "training_labels": 1,
            "calibration": "temperature_by_degree",
            "decisions": [decision_record()],
            "held_out": {"case": "divided", "choosing": 40, "certifying": 40, "certified": True},
            "notices": [],
        },
        "classes": list(classes),
        "data": {
            "nodes": size,
            "edges": len(edges),
            "features": 7,
            "isolated_nodes": int((degree == 0).sum()),
            "components": 2,
            "components_without_label": 1,
            "nodes_without_label": 4,
            "label_rate": 1 / size,
            "split": {"train": 1, "validation": 2, "test": 14},
            "homophily": 0.5,
            "degree": {"median": 2.0, "highest": 3.0},
            "notices": [f"1 notice about {names[0]}"],
            "training_labels": [1] * width,
            "predicted": np.bincount(label, minlength=width).tolist(),
        },
        "quality": {
            "evaluated_on": "test nodes",
            "is_selection": False,
            "imbalanced": False,
            "count": 14,
            "scores": card,
            "raw": card,
            "curves": {"raw": curve, "calibrated": curve, "groups": groups},
            "confusion": (np.arange(width * width).reshape(width, width) % 7).tolist(),
        },
        "search": {"search": None, "edges": None, "influence": None},
        "training": {
            "history": [
                {"epoch": e, "loss": 3.0 / e, "loss_cross": 2.0 / e, "loss_reg": 1.0 / e, "validation_accuracy": 0.5}
                for e in range(1, 41)
            ],
            "selected": 30,
        },
        "nodes": {
            "node": list(names),
            "label": label,
            "known_label": [-1, *label[1:]],
            "split": [1] + [3] * (size - 1),
            "degree": degree.tolist(),
            "probability": probability.max(1).tolist(),
            "probability_by_class": probability.tolist(),
            "mu_by_class": (probability * 2 - 0.1).tolist(),
            "precision_by_class": random.gamma(2.0, 3.0, (size, width)).tolist(),
            "self_influence": random.random(size).tolist(),
            "evidence": random.random(size).tolist(),
            "novelty": random.random(size).tolist(),
            "accepted": [0] + [2] * (size - 1),
            "set": [[c] for c in label],
            "most_influential_neighbour": [names[-1]] * size,
            "rank": list(range(size)),
        },
        "splits": ["none", "train", "validation", "test"],
        "facts": [
            {"name": "novelty", "title": "novelty", "is_share": True},
            {"name": "evidence", "title": "evidence", "is_share": True},
        ],
        "neighbours": {
            "start": [0, *np.cumsum(degree).tolist()],
            "node": both[:, 1].tolist(),
            "influence": influence.tolist(),
        },
        "tables": {
            "most_confident": order[::-1][:20],
            "least_confident": order[:20],
            "num_label_errors": 1,
            "labels": [{**first, "label": classes[0], "suggested": classes[-1], "score": "-0.5"}],
            "edges": [{**first, "neighbour": names[-1], "other": size - 1, "disagreement": "0.9", "influence": "0.1"}],
        },
    }
