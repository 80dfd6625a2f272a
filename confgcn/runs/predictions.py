"""The table of predictions: one schema that predictions.csv, Parquet files and the report loop over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from confgcn.graph import Graph
from confgcn.runs.run import Run
from confgcn.runs.tables import Columns, numbers

ROWS_AT_ONCE = 10_000  # rows formatted at once: about 90 MB of texts with forty classes
ANSWERS = ("", "no", "yes")
SPLITS = ("", "train", "validation", "test")


@dataclass(frozen=True)
class Column:
    """One column of the table, or one for each class.

    Attributes:
        name: in the file; a column for each class is called ``<name>_<class>``.
        title: for people.
        kind: of the values: ``text`` (a list); ``label``, ``answer`` and ``split`` (positions among class names,
            ``ANSWERS`` and ``SPLITS``); ``labels`` (a mask over the classes); ``number`` (NaN is blank).
        values: for these nodes of a run, a row for each; None where the method has no such quantity.
        per_class: True for a column for each class; values are then (n, C).
        is_share: True for a number from 0 to 1, which people read as a percentage.
        in_explorer: True where the report shows the number beside each node.
    """

    name: str
    title: str
    kind: Literal["text", "label", "labels", "answer", "split", "number"]
    values: Callable[[Run, Tensor], Any]
    per_class: bool = False
    is_share: bool = False
    in_explorer: bool = False

    @property
    def key(self) -> str:
        """Unique among the columns."""
        return f"{self.name}_by_class" if self.per_class else self.name

    def file_columns(self, run: Run, nodes: Tensor) -> Columns:
        """The column, or columns, as they are written to a file."""
        values, classes = self.values(run, nodes), run.prepared.class_names
        if values is None:
            return {}
        if self.kind == "number":
            if self.per_class:
                return {f"{self.name}_{c}": numbers(column) for c, column in zip(classes, values.T, strict=True)}
            return {self.name: numbers(values)}
        if self.kind == "labels":
            return {self.name: _joined_labels(values, classes)}
        names = {"label": classes, "answer": ANSWERS, "split": SPLITS}.get(self.kind)
        return {self.name: values if names is None else [names[position] for position in values.tolist()]}

    def plain_values(self, run: Run, nodes: Tensor) -> list[Any] | None:
        """The values as lists of numbers and texts, ``labels`` as lists of positions; None where there are none."""
        values = self.values(run, nodes)
        if values is None or isinstance(values, list):
            return values
        if self.kind == "labels":
            return [row.nonzero().squeeze(1).tolist() for row in values]
        plain: list[Any] = values.tolist()
        return plain


def prediction_blocks(run: Run, nodes: Tensor | None = None) -> Iterator[Columns]:
    """The table of these nodes, all by default, some rows at a time."""
    nodes = torch.arange(run.prepared.num_nodes) if nodes is None else nodes
    for some in nodes.split(ROWS_AT_ONCE):
        yield prediction_table(run, some)


def prediction_table(run: Run, nodes: Tensor) -> Columns:
    """One row for each of these nodes; docs/run_directory.md describes the columns.

    Where a run was extended by new nodes, the others keep the row of the run that was extended.
    """
    table: Columns = {}
    for column in COLUMNS:
        table |= column.file_columns(run, nodes)
    if run.extended is not None and not run.extended.update_existing:
        _keep_rows(table, run, nodes)
    return table


def _keep_rows(table: Columns, run: Run, nodes: Tensor) -> None:
    assert run.extended is not None
    known = run.extended.extension.known
    before = torch.full((run.prepared.num_nodes,), -1).index_copy(0, known, torch.arange(len(known)))[nodes]
    places = (before >= 0).nonzero().squeeze(1)
    for name, kept in prediction_table(run.extended.run, before[places]).items():
        column = table[name]
        for place, cell in zip(places.tolist(), kept, strict=True):
            column[place] = cell


def _names(run: Run, nodes: Tensor) -> list[str]:
    return [run.prepared.node_names[node] for node in nodes.tolist()]


def _label(run: Run, nodes: Tensor) -> Tensor:
    return run.prediction.logits[nodes].argmax(-1)


def _probability(run: Run, nodes: Tensor) -> Tensor:
    return run.assessment.probabilities[nodes].gather(1, _label(run, nodes)[:, None]).squeeze(1)


def _raw_probability(run: Run, nodes: Tensor) -> Tensor:
    return run.prediction.logits[nodes].softmax(-1).gather(1, _label(run, nodes)[:, None]).squeeze(1)


def _set(run: Run, nodes: Tensor) -> Tensor:
    sets = run.assessment.sets
    return torch.zeros(len(nodes), run.prepared.num_classes, dtype=torch.bool) if sets is None else sets[nodes]


def _accepted(run: Run, nodes: Tensor) -> Tensor:
    """Blank for training nodes, whose labels are known, and where nothing was decided."""
    answers = torch.zeros(run.prepared.num_nodes, dtype=torch.long)
    if run.assessment.decision is not None:
        answers[run.assessment.candidates] = 1 + run.assessment.decision.accepted.long()
    return answers[nodes]


def _label_error_score(run: Run, nodes: Tensor) -> Tensor:
    """Blank for nodes that have no training label."""
    errors = run.assessment.label_errors
    scores = torch.full((run.prepared.num_nodes,), torch.nan, dtype=errors.score.dtype)
    return scores.index_copy(0, errors.nodes, errors.score)[nodes]


def _most_influential_neighbour(run: Run, nodes: Tensor) -> list[str] | None:
    """The neighbour of the largest influence on each node, the first of equals; blank where there is none."""
    graph, influence = run.prepared, run.prediction.influence
    if influence is None:
        return None
    edges, places = graph.neighbours.at_rows(nodes)
    of_edges = influence[graph.adjacency.without_diagonal[1][places]]
    order = torch.argsort(of_edges, descending=True, stable=True)
    order = order[torch.argsort(edges.rows[order], stable=True)]
    has_neighbour = edges.indptr.diff() > 0
    first = iter(edges.indices[order[edges.indptr[:-1][has_neighbour]]].tolist())
    return [graph.node_names[next(first)] if there else "" for there in has_neighbour.tolist()]


def _evidence(run: Run, nodes: Tensor) -> Tensor | None:
    return None if run.prediction.evidence is None else run.prediction.evidence[nodes]


def _split(run: Run, nodes: Tensor) -> Tensor:
    """Both halves of divided validation nodes are validation nodes."""
    return split_positions(run.prepared).index_fill_(0, run.certifying_nodes, SPLITS.index("validation"))[nodes]


def split_positions(graph: Graph) -> Tensor:
    """The position of each node's split among ``SPLITS``, (N,)."""
    positions = torch.zeros(graph.num_nodes, dtype=torch.long)
    for position, name in enumerate(SPLITS):
        if name:
            positions[getattr(graph, name)] = position
    return positions


def _mu(run: Run, nodes: Tensor) -> Tensor | None:
    return None if run.prediction.mu is None else run.prediction.mu[nodes]


def _precision(run: Run, nodes: Tensor) -> Tensor | None:
    """Never negative: ``released`` and ``paper`` allow a precision below zero inside the model."""
    return None if run.prediction.precision is None else run.prediction.precision[nodes].clamp(min=0.0)


def _is_new(run: Run, nodes: Tensor) -> Tensor | None:
    return None if run.extended is None else 1 + torch.isin(nodes, run.extended.extension.new).long()


COLUMNS = (
    Column("node", "node", "text", _names),
    Column("label", "predicted label", "label", _label),
    Column("probability", "probability", "number", _probability, is_share=True),
    Column("raw_probability", "probability before calibration", "number", _raw_probability, is_share=True),
    Column("set", "prediction set", "labels", _set),
    Column("accepted", "accepted", "answer", _accepted),
    Column(
        "novelty",
        "novelty (share of nodes that are less novel)",
        "number",
        lambda run, nodes: run.assessment.novelty[nodes],
        is_share=True,
        in_explorer=True,
    ),
    Column("label_error_score", "label error score", "number", _label_error_score),
    Column("most_influential_neighbour", "most influential neighbour", "text", _most_influential_neighbour),
    Column(
        "evidence",
        "evidence (share of the messages that comes from labels)",
        "number",
        _evidence,
        is_share=True,
        in_explorer=True,
    ),
    Column("split", "split", "split", _split),
    Column(
        "probability",
        "probability",
        "number",
        lambda run, nodes: run.assessment.probabilities[nodes],
        per_class=True,
        is_share=True,
    ),
    Column("mu", "label score mu", "number", _mu, per_class=True),
    Column("precision", "precision", "number", _precision, per_class=True),
    Column("is_new", "new node", "answer", _is_new),
)


def _joined_labels(chosen: Tensor, classes: tuple[str, ...]) -> list[str]:
    r"""The names of the labels of each set, joined by ``|``, with a backslash before each ``|`` and backslash."""
    names = [name.replace("\\", r"\\").replace("|", r"\|") for name in classes]
    labels = iter(chosen.nonzero()[:, 1].tolist())
    return ["|".join(names[next(labels)] for _ in range(size)) for size in chosen.sum(1).tolist()]


def label_errors_table(run: Run, limit: int | None = None) -> Columns:
    """The training labels, most probable error first."""
    graph, errors = run.prepared, run.assessment.label_errors
    return {
        "node": [graph.node_names[node] for node in errors.nodes[:limit].tolist()],
        "label": [graph.class_names[c] for c in errors.given[:limit].tolist()],
        "suggested": [graph.class_names[c] for c in errors.suggested[:limit].tolist()],
        "score": numbers(errors.score[:limit]),
    }


def disagreeing_edges_table(run: Run, limit: int | None = None) -> Columns:
    """The edges whose ends most probably have different labels."""
    names, edges = run.prepared.node_names, run.assessment.disagreeing_edges
    table: Columns = {
        "node": [names[node] for node in edges.source[:limit].tolist()],
        "neighbour": [names[node] for node in edges.target[:limit].tolist()],
        "disagreement": numbers(edges.disagreement[:limit]),
    }
    return table if edges.influence is None else {**table, "influence": numbers(edges.influence[:limit])}
