"""The text and tables of each section of the report."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from confgcn.report.formatting import Numbers, count, decimal, decision_text, held_out_text, notice_text, percent

PALETTE = 10  # colours of classes; further classes repeat them
MAX_CONFUSION = 20  # classes of a readable confusion matrix
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def code(number: int) -> str:
    """The letters of a class where its name does not fit: A to Z, AA, AB, ..."""
    first, last = divmod(number, len(LETTERS))
    return (code(first - 1) if first else "") + LETTERS[last]


def headline(numbers: Numbers) -> list[str]:
    """Number of predicted nodes, accuracy, and decisions, a sentence each."""
    about, quality = numbers["about"], numbers["quality"]
    trained = (
        f"{count(about['predicted'])} nodes were predicted from {count(about['training_labels'])} training labels."
    )
    if quality is None:
        evaluated = "The accuracy is unknown: no labels were held out of training."
    else:
        accuracy = percent(quality["scores"]["accuracy"])
        evaluated = f"The accuracy is {accuracy} % on {count(quality['count'])} {quality['evaluated_on']}."
    return [trained, evaluated, *(_sentence(decision_text(record)) for record in about["decisions"])]


def warnings(numbers: Numbers) -> list[str]:
    """The notices about the result, a sentence each."""
    return [_sentence(notice_text(record)) for record in numbers["about"]["notices"]]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def data(numbers: Numbers) -> str:
    """The graph in a few sentences."""
    graph = numbers["data"]
    sentences = [
        f"{count(graph['nodes'])} nodes, {count(graph['edges'])} edges, {count(graph['features'])} features and "
        f"{count(len(numbers['classes']))} classes.",
        f"{percent(graph['label_rate'], 2)} % of the nodes have a training label.",
    ]
    if graph["homophily"] is not None:
        sentences.append(
            f"{percent(graph['homophily'])} % of the edges between labelled nodes join equal labels (edge homophily)."
        )
    return " ".join(sentences)


def facts(numbers: Numbers) -> list[tuple[str, str]]:
    """Statistics of the graph."""
    graph = numbers["data"]
    split, degree = graph["split"], graph["degree"]
    return [
        ("nodes", count(graph["nodes"])),
        ("edges", count(graph["edges"])),
        ("features", count(graph["features"])),
        ("classes", count(len(numbers["classes"]))),
        ("label rate", f"{percent(graph['label_rate'], 2)} %"),
        ("train / validation / test", " / ".join(count(split[name]) for name in ("train", "validation", "test"))),
        ("degree: median, maximum", f"{degree['median']:g}, {count(degree['highest'])}"),
        ("isolated nodes", count(graph["isolated_nodes"])),
        ("components", count(graph["components"])),
        ("components without a training label", count(graph["components_without_label"])),
        ("nodes in these components", count(graph["nodes_without_label"])),
    ]


def classes(numbers: Numbers) -> list[dict[str, Any]]:
    """Each class with its code and colour, its number of training labels and of predicted nodes."""
    graph = numbers["data"]
    most = max([*graph["predicted"], 1])
    return [
        {
            "code": code(number),
            "colour": number % PALETTE,
            "name": name,
            "training_labels": count(given),
            "predicted": count(predicted),
            "share": round(100 * predicted / most, 1),
        }
        for number, (name, given, predicted) in enumerate(
            zip(numbers["classes"], graph["training_labels"], graph["predicted"], strict=True)
        )
    ]


def scores(numbers: Numbers) -> list[dict[str, str]]:
    """The metrics, each with its meaning."""
    quality, num_classes = numbers["quality"], len(numbers["classes"])
    metrics, raw = quality["scores"], quality["raw"]
    uniform = f"uniform probabilities over {num_classes} classes:"
    return [
        _score("accuracy", f"{percent(metrics['accuracy'])} %", "share of correct labels", None),
        *_class_scores(metrics, num_classes, is_imbalanced=quality["imbalanced"]),
        _score(
            "log loss", decimal(metrics["nll"], 3), f"0 = perfect; {uniform} {math.log(num_classes):.2f}", raw["nll"]
        ),
        _score(
            "Brier score",
            decimal(metrics["brier"], 3),
            f"0 = perfect; {uniform} {1 - 1 / num_classes:.2f}",
            raw["brier"],
        ),
        _score(
            "calibration error",
            decimal(metrics["ece"], 3),
            f"a calibrated model on so few nodes: {decimal(metrics['ece_floor'], 3)}",
            raw["ece"],
        ),
        _score(
            "AUROC of the confidence",
            decimal(metrics["auroc_correct"], 3),
            "separates correct from wrong labels; 0.5 = random, 1 = perfect",
            raw["auroc_correct"],
        ),
    ]


def _class_scores(metrics: Numbers, num_classes: int, *, is_imbalanced: bool) -> list[dict[str, str]]:
    """Balanced accuracy for two or imbalanced classes, ROC AUC for two."""
    scores = []
    if num_classes == 2 or is_imbalanced:
        value, meaning = metrics["balanced_accuracy"], "mean over classes of the share of correct labels"
        scores.append(_score("balanced accuracy", f"{percent(value)} %", meaning, None))
    if num_classes == 2:
        meaning = "ranks the nodes of one class above those of the other; 0.5 = random, 1 = perfect"
        scores.append(_score("ROC AUC", decimal(metrics["roc_auc"], 3), meaning, None))
    return scores


def _score(name: str, value: str, meaning: str, raw: float | None) -> dict[str, str]:
    before = "" if raw is None else f"before calibration: {decimal(raw, 3)}"
    return {"name": name, "value": value, "meaning": meaning, "before": before}


def quality(numbers: Numbers) -> str:
    """On which nodes the metrics are evaluated, and their limits."""
    evaluation, about = numbers["quality"], numbers["about"]
    if evaluation is None:
        return "No labels were held out of training, so nothing can be evaluated."
    calibration = (
        "are not calibrated: there are too few held-out labels"
        if about["calibration"] == "none"
        else "are calibrated on held-out labels"
    )
    caveat = (
        " The same labels selected the weights and the calibration, so these values are slightly optimistic."
        if evaluation["is_selection"] or evaluation["evaluated_on"] == "labels held out in turn"
        else ""
    )
    return (
        f"Evaluated on {count(evaluation['count'])} {evaluation['evaluated_on']}, which were not used for training. "
        f"Probabilities {calibration}.{caveat} {_sentence(held_out_text(about['held_out']))}"
    )


def confusion(numbers: Numbers) -> dict[str, Any]:
    """The confusion matrix with the shade of each cell, and the most frequent error."""
    rows, names = numbers["quality"]["confusion"], numbers["classes"]
    errors = [(value, i, j) for i, row in enumerate(rows) for j, value in enumerate(row) if i != j]
    value, known, predicted = max(errors, key=lambda error: error[0], default=(0, 0, 0))
    shown = sorted(sorted(range(len(rows)), key=lambda c: -sum(rows[c]))[:MAX_CONFUSION])
    most = max([rows[i][j] for i in shown for j in shown], default=0) or 1
    sentences = [
        "Rows are true labels, columns are predicted labels.",
        f"Most frequent error: {names[known]} predicted as {names[predicted]} ({count(value)} nodes)."
        if value
        else "No errors.",
        f"The {len(shown)} most frequent of {len(rows)} classes are shown." if len(shown) < len(rows) else "",
    ]
    return {
        "sentence": " ".join(filter(None, sentences)),
        "codes": [(code(c), names[c]) for c in shown],
        "rows": [
            {"code": code(i), "name": names[i], "cells": [(count(rows[i][j]), _shade(rows[i][j], most)) for j in shown]}
            for i in shown
        ],
    }


def _shade(value: int, most: int) -> int:
    """In percent; the square root keeps small numbers visible beside large ones."""
    return round(100 * math.sqrt(value / most))


def explorer(numbers: Numbers, omitted: Collection[str] = ()) -> str:
    """How to read the drawing of a neighbourhood; ``omitted`` are quantities that the page does not hold."""
    nodes = numbers["nodes"]
    has_mu, has_precision = (
        nodes[f"{name}_by_class"] is not None and name not in omitted for name in ("mu", "precision")
    )
    ring = "label scores" if has_mu else "probabilities"
    sentences = [f"A node and its neighbours. The ring shows the {ring} by class; an outline marks a training label."]
    if numbers["neighbours"]["influence"] is not None:
        sentences.append("Edge width and the number below a neighbour show its influence on the node in the middle.")
    else:
        sentences.append("The number below a neighbour is the probability of its predicted label.")
    if has_precision:
        sentences.append("The vertical bar is the precision of the predicted label.")
    return " ".join([*sentences, "Select a neighbour to move to it."])
