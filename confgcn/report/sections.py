"""What the page of a run says in words, section by section, from its numbers."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from confgcn.report.formatting import Numbers, count, decimal, decision_text, listed, percent

PALETTE = 10  # colours of classes; beyond, they begin again
MOST_CONFUSED = 20  # classes of a confusion matrix that one can still read
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def code(number: int) -> str:
    """The letters that stand for a class where there is no room for its name: A to Z, AA, AB, ..."""
    first, last = divmod(number, len(LETTERS))
    return (code(first - 1) if first else "") + LETTERS[last]


def headline(numbers: Numbers) -> list[str]:
    """How many nodes were labelled, how well, and what may be accepted: a sentence each."""
    about, quality = numbers["about"], numbers["quality"]
    labelled = f"{count(about['labelled'])} nodes were labelled from {count(about['given'])} given labels."
    if quality is None:
        judged = "No labels were held out of the training, so nothing can be said of how many are right."
    else:
        right = percent(quality["scores"]["accuracy"])
        judged = f"{right} % of the labels are right on {count(quality['count'])} {quality['measured_on']}."
    return [labelled, judged, *map(_decision, about["decisions"])]


def _decision(record: Numbers) -> str:
    text = decision_text(record)
    return text[0].upper() + text[1:] + "."


def data(numbers: Numbers) -> str:
    """The graph in a sentence or two."""
    found = numbers["data"]
    parts = [
        f"{count(found['nodes'])} nodes, {count(found['edges'])} edges, {count(found['features'])} features and "
        f"{count(len(numbers['classes']))} classes.",
        f"{percent(found['label_rate'], 2)} % of the nodes came with a label to train on.",
    ]
    if found["homophily"] is not None:
        parts.append(f"{percent(found['homophily'])} % of the edges between labelled nodes join like labels.")
    return " ".join(parts)


def facts(numbers: Numbers) -> list[tuple[str, str]]:
    """The graph in figures."""
    found = numbers["data"]
    split, degree = found["split"], found["degree"]
    return [
        ("nodes", count(found["nodes"])),
        ("edges", count(found["edges"])),
        ("features", count(found["features"])),
        ("classes", count(len(numbers["classes"]))),
        ("label rate", f"{percent(found['label_rate'], 2)} %"),
        ("train / validation / test", " / ".join(count(split[part]) for part in ("train", "validation", "test"))),
        ("neighbours: median, most", f"{degree['median']:g}, {count(degree['highest'])}"),
        ("isolated nodes", count(found["isolated_nodes"])),
        ("components", count(found["components"])),
        ("components without a label", count(found["components_without_label"])),
        ("nodes in those", count(found["nodes_without_label"])),
    ]


def classes(numbers: Numbers) -> list[dict[str, Any]]:
    """Each class with its code and colour, how many labels were given and how many nodes are said to be of it."""
    found = numbers["data"]
    most = max([*found["predicted"], 1])
    return [
        {
            "code": code(number),
            "colour": number % PALETTE,
            "name": name,
            "given": count(given),
            "predicted": count(predicted),
            "share": round(100 * predicted / most, 1),
        }
        for number, (name, given, predicted) in enumerate(
            zip(numbers["classes"], found["given"], found["predicted"], strict=True)
        )
    ]


def scores(numbers: Numbers) -> list[dict[str, str]]:
    """The figures of quality, each with what it means."""
    quality, num_classes = numbers["quality"], len(numbers["classes"])
    found, raw = quality["scores"], quality["raw"]
    guess = f"guessing among {num_classes} classes has"
    return [
        _score("accuracy", f"{percent(found['accuracy'])} %", "of the labels are right", None),
        _score("log loss", decimal(found["nll"], 3), f"0 is perfect, {guess} {math.log(num_classes):.2f}", raw["nll"]),
        _score(
            "Brier score", decimal(found["brier"], 3), f"0 is perfect, {guess} {1 - 1 / num_classes:.2f}", raw["brier"]
        ),
        _score(
            "calibration error",
            decimal(found["ece"], 3),
            f"a perfect model on so few nodes has {decimal(found['ece_floor'], 3)}",
            raw["ece"],
        ),
        _score(
            "AUROC, right from wrong",
            decimal(found["auroc_correct"], 3),
            "0.5 is a coin, 1 tells every right label from every wrong one",
            raw["auroc_correct"],
        ),
    ]


def _score(name: str, value: str, meaning: str, raw: float | None) -> dict[str, str]:
    before = "" if raw is None else f"before calibration {decimal(raw, 3)}"
    return {"name": name, "value": value, "meaning": meaning, "before": before}


def quality(numbers: Numbers) -> str:
    """On which nodes the figures of quality are, and what they leave open."""
    found, about = numbers["quality"], numbers["about"]
    if found is None:
        return "No label was held out of the training, so nothing can be measured here."
    calibration = (
        "are as predicted: there were too few held-out labels to calibrate by"
        if about["calibration"] == "none"
        else "are calibrated by held-out labels"
    )
    caveat = (
        " The same labels chose the length of the training and the calibration: expect a little less."
        if found["is_selection"] or found["measured_on"] != "test nodes"
        else ""
    )
    return (
        f"Measured on {count(found['count'])} {found['measured_on']}, which were not trained on. Probabilities "
        f"{calibration}.{caveat}"
    )


def confusion(numbers: Numbers) -> dict[str, Any]:
    """Rows are known labels and columns predicted ones, with the shade of each cell; and the commonest error."""
    rows, names = numbers["quality"]["confusion"], numbers["classes"]
    errors = [(value, i, j) for i, row in enumerate(rows) for j, value in enumerate(row) if i != j]
    value, known, said = max(errors, key=lambda error: error[0], default=(0, 0, 0))
    shown = sorted(sorted(range(len(rows)), key=lambda c: -sum(rows[c]))[:MOST_CONFUSED])
    most = max([rows[i][j] for i in shown for j in shown], default=0) or 1
    sentences = [
        "Rows are the labels that are known, columns those predicted; the darker, the more nodes.",
        f"The commonest error: {names[known]} taken for {names[said]}, {count(value)} times." if value else "No error.",
        f"Shown are the {len(shown)} commonest of {len(rows)} classes." if len(shown) < len(rows) else "",
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
    """In percent; the root lets small numbers be seen beside large ones."""
    return round(100 * math.sqrt(value / most))


def explorer(numbers: Numbers, without: Collection[str] = ()) -> str:
    """How to read the picture of a neighbourhood; ``without`` are quantities that the page does not hold."""
    nodes = numbers["nodes"]
    has_mu, has_precision = (nodes[name] is not None and name not in without for name in ("mu", "precision"))
    signs = [f"the ring of a node shows its {'label scores' if has_mu else 'probabilities'} by class"]
    signs += ["an outline marks a given label"]
    if numbers["neighbours"]["influence"] is not None:
        signs += [
            "an edge is the wider, the more the middle node listens to that neighbour, by the share below its name"
        ]
    else:
        signs += ["below its name stands the probability of a neighbour's label"]
    signs += ["the small upright bar is the precision of its label"] if has_precision else []
    return f"A node and its neighbours: {listed(signs)}. Follow a neighbour to walk there."
