"""The tables of single nodes and edges on the page of a run: the surest, the least sure, the doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from confgcn.report.formatting import NOTHING, Numbers, count, percent
from confgcn.report.island import shortened
from confgcn.report.sections import PALETTE, code


@dataclass(frozen=True)
class Sign:
    """What stands for a class where there is little room."""

    code: str
    colour: int
    name: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table; ``place`` is that of a node which the explorer can open, ``classes`` stand as signs."""

    text: str
    place: int | None = None
    is_number: bool = False
    classes: Sequence[Sign] = ()


@dataclass(frozen=True)
class NodeTable:
    """A table of nodes, with the sentence above it."""

    title: str
    sentence: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


def node_tables(numbers: Numbers) -> list[NodeTable]:
    """The most and the least confident nodes, and the labels and edges that look wrong."""
    tables = numbers["tables"]
    found = [
        _confident(numbers, tables["surest"], "Most confident", "the largest"),
        _confident(numbers, tables["least_sure"], "Least confident", "the smallest"),
    ]
    found += [_labels(tables)] if tables["labels"] else []
    found += [_edges(tables)] if tables["edges"] else []
    return found


def _confident(numbers: Numbers, places: Sequence[int], title: str, which: str) -> NodeTable:
    nodes, names = numbers["nodes"], numbers["classes"]
    by_name = {name: place for place, name in enumerate(nodes["names"])}
    rows = []
    for place in places:
        label = nodes["label"][place]
        heard = nodes["top_neighbour"][place] if nodes["top_neighbour"] else ""
        inside = nodes["sets"][place] if nodes["sets"] else []
        rows.append(
            (
                Cell(shortened(nodes["names"][place]), place),
                Cell(names[label]),
                Cell(f"{percent(nodes['probability'][place][label])} %", is_number=True),
                Cell(NOTHING, classes=[Sign(code(c), c % PALETTE, names[c]) for c in inside]),
                Cell(shortened(heard) or NOTHING, by_name.get(heard) if heard else None),
            )
        )
    sentence = f"The {len(rows)} nodes without a given label whose label has {which} probability; sets by letter."
    return NodeTable(title, sentence, ("node", "label", "probability", "90 % set", "heard most"), rows)


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
    doubtful = tables["num_doubtful"]
    verb = "is one" if doubtful == 1 else f"are {count(doubtful)}" if doubtful else "is none"
    sentence = (
        f"Given labels that neighbours and features speak against, most suspicious first. There {verb} for which "
        "another label is likelier: a score above zero, by how much in log-probability."
    )
    return NodeTable("Suspicious labels", sentence, ("node", "given", "suggested", "score"), rows)


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
    sentence = "Edges whose two ends most probably have different labels. An edge of little influence does little harm."
    return NodeTable("Suspicious edges", sentence, header, rows)
