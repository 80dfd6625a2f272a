"""The tables of nodes and edges in the report: most and least confident nodes, label errors, disagreeing edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from confgcn.report.formatting import NOTHING, Numbers, count, percent
from confgcn.report.page_data import shortened
from confgcn.report.sections import PALETTE, code


@dataclass(frozen=True)
class ClassMark:
    """A class as letters on its colour, where space is limited."""

    code: str
    colour: int
    name: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table; ``node`` is the position of a node to open in the explorer, ``classes`` are shown as marks."""

    text: str
    node: int | None = None
    is_number: bool = False
    classes: Sequence[ClassMark] = ()


@dataclass(frozen=True)
class NodeTable:
    """A table of nodes, with the sentence above it."""

    title: str
    sentence: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def node_tables(numbers: Numbers) -> list[NodeTable]:
    """The most and the least confident nodes, probable label errors and disagreeing edges."""
    tables = numbers["tables"]
    shown = [
        _confident(numbers, tables["most_confident"], "Most confident nodes", "highest"),
        _confident(numbers, tables["least_confident"], "Least confident nodes", "lowest"),
    ]
    shown += [_labels(tables)] if tables["labels"] else []
    shown += [_edges(tables)] if tables["edges"] else []
    return shown


def _confident(numbers: Numbers, places: Sequence[int], title: str, which: str) -> NodeTable:
    nodes, names = numbers["nodes"], numbers["classes"]
    by_name = {name: place for place, name in enumerate(nodes["node"])}
    rows = []
    for place in places:
        label = nodes["label"][place]
        neighbour = nodes["most_influential_neighbour"][place] if nodes["most_influential_neighbour"] else ""
        inside = nodes["set"][place] if nodes["set"] else []
        rows.append(
            (
                Cell(shortened(nodes["node"][place]), place),
                Cell(names[label]),
                Cell(f"{percent(nodes['probability'][place])} %", is_number=True),
                Cell(NOTHING, classes=[ClassMark(code(c), c % PALETTE, names[c]) for c in inside]),
                Cell(shortened(neighbour) or NOTHING, by_name.get(neighbour) if neighbour else None),
            )
        )
    sentence = (
        f"The {len(rows)} nodes outside of the training set with the {which} probability of the predicted label. "
        "Prediction sets are given by the letters of the classes."
    )
    return NodeTable(title, sentence, ("node", "label", "probability", "set", "most influential neighbour"), rows)


def _labels(tables: Numbers) -> NodeTable:
    rows = [
        (
            Cell(shortened(row["node"]), row["place"]),
            Cell(row["label"]),
            Cell(row["suggested"]),
            Cell(f"{float(row['score']):+.2f}".replace("-", "−"), is_number=True),
        )
        for row in tables["labels"]
    ]
    probable = tables["num_label_errors"]
    sentence = (
        f"Training labels that disagree with neighbours and features, highest score first. {count(probable)} "
        f"{'label has' if probable == 1 else 'labels have'} a score above zero: the log-probability by which another "
        "label is more probable."
    )
    return NodeTable("Probable label errors", sentence, ("node", "label", "suggested", "score"), rows)


def _edges(tables: Numbers) -> NodeTable:
    has_influence = "influence" in tables["edges"][0]
    rows = [
        (
            Cell(shortened(row["node"]), row["place"]),
            Cell(shortened(row["neighbour"]), row["other"]),
            Cell(f"{percent(float(row['disagreement']))} %", is_number=True),
            *([Cell(f"{float(row['influence']):.3g}", is_number=True)] if has_influence else []),
        )
        for row in tables["edges"]
    ]
    header = ["node", "neighbour", "labels differ", *(["influence"] if has_influence else [])]
    sentence = "Edges whose ends most probably have different labels. An edge with little influence does little harm."
    return NodeTable("Disagreeing edges", sentence, header, rows)
