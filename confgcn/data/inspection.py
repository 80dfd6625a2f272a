"""Notices about a graph for its user, before training on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from confgcn.data.statistics import GraphStatistics
from confgcn.data.structural import is_structural
from confgcn.graph import Graph

FEW_LABELS = 10  # of a class: with fewer, its confidences are unreliable
MIXED = 0.5  # share of edges between different labels, above which neighbours are misleading


@dataclass(frozen=True)
class Notice:
    """One sentence; a warning is about something that lowers accuracy or the quality of confidences."""

    text: str
    is_warning: bool


def inspection_notices(graph: Graph, statistics: GraphStatistics) -> list[Notice]:
    """A summary of the graph, then warnings."""
    about = [Notice(text, False) for text in _summary(graph, statistics)]
    return [*about, *(Notice(text, True) for text in (*graph.notices(), *_warnings(graph, statistics)))]


def _summary(graph: Graph, s: GraphStatistics) -> Iterator[str]:
    kinds = _kinds(graph) if s.features else ""
    labelled = int((graph.labels >= 0).sum())
    yield (
        f"{graph.name}: {s.nodes:,} nodes, {s.edges.unique:,} edges, {s.features:,} features, "
        f"{s.classes:,} classes ({_some(graph.class_names)})"
    )
    if kinds:
        yield f"features: {kinds}"
    yield f"{labelled:,} nodes have a label ({labelled / s.nodes:.1%}), {s.nodes - labelled:,} are to be predicted"
    if s.split["validation"] or s.split["test"]:
        yield "split: " + ", ".join(f"{size:,} for {part}" for part, size in s.split.items())
    else:
        yield "no split is given: all labels are trained on, and accuracy is measured by cross-validation"
    if s.edge_homophily is not None:
        yield f"{s.edge_homophily:.0%} of the edges between labelled nodes join equal labels"


def _warnings(graph: Graph, s: GraphStatistics) -> Iterator[str]:
    if not s.split["train"]:
        yield "no node has a label: there is nothing to learn from"
        return
    few = {name: size for name, size in s.train_class_sizes.items() if size < FEW_LABELS}
    if few:
        yield f"classes with few labels: {_some([f'{name} ({size})' for name, size in few.items()])}"
    if s.classes == 1:
        yield "there is a single class: there is nothing to classify"
    if s.components_without_training_label:
        yield (
            f"{s.components_without_training_label:,} of {s.components:,} components have no label: predictions for "
            f"their {s.nodes_without_training_label_in_reach:,} nodes depend on features alone"
        )
    if s.label_mismatch.all_labels is not None and s.label_mismatch.all_labels > MIXED:
        yield (
            f"{s.label_mismatch.all_labels:.0%} of the edges between labelled nodes join different labels: neighbours "
            "are misleading here; compare with --method feat, which uses no edges"
        )


def _kinds(graph: Graph) -> str:
    """How many columns are numbers, categories and computed from the edges, by their names."""
    levels = Counter(name.partition("=")[0] for name in graph.feature_names if "=" in name)
    made = sum(map(is_structural, graph.feature_names))
    numbers = len(graph.feature_names) - sum(levels.values()) - made
    categories = _some([f"{name} with {count} values" for name, count in levels.items()])
    parts = [f"{numbers:,} numbers" if numbers else "", f"{len(levels):,} categories ({categories})" if levels else ""]
    return ", ".join(part for part in (*parts, f"{made:,} computed from the edges" if made else "") if part)


def _some(names: list[str] | tuple[str, ...], most: int = 8) -> str:
    more = f", ... ({len(names):,} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + more
