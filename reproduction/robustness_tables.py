"""The tables that compare the default preset with common models: one row per graph, one column per model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reproduction.formatting import NOTHING, Numbers, decimal, interval, mean_std
from reproduction.rendering import Table

METRICS = {"roc_auc": "ROC AUC", "accuracy": "accuracy"}
SCORES = {"nll": "log loss", "brier": "Brier score", "auroc_correct": "AUROC of the confidence", "aurc": "AURC"}
DIGITS = 3


def metric_table(numbers: Numbers, nodes: str) -> Table:
    """Metric of every model, and the difference of the default to the best peer; ``nodes``: "test" or "validation"."""

    def cell(model: Numbers) -> str:
        if model[nodes]["mean"] is None:
            return NOTHING
        loss = "" if nodes == "test" else f", log loss {decimal(model['validation_log_loss']['mean'], DIGITS)}"
        return mean_std(model[nodes]) + loss

    rows = [
        [*row, graph["best_peer"] or NOTHING, interval(graph[f"{nodes}_difference"])]
        for row, graph in zip(_rows(numbers, nodes, cell), numbers[nodes].values(), strict=True)
    ]
    caption = f"Metric on {nodes} nodes in percent, mean ± sample standard deviation over seeds or splits."
    return Table(caption, ["", *numbers["titles"], "best peer, by validation", "default minus best peer"], rows)


def other_graphs_table(numbers: Numbers, names: Sequence[str]) -> Table:
    """The default beside the best peer: one column per graph."""
    own, *_ = numbers["titles"]
    graphs = [numbers["test"][name] for name in names]

    def cells(title: str | None, graph: Numbers) -> str:
        model = graph["models"].get(title)
        return NOTHING if model is None or model["test"]["mean"] is None else mean_std(model["test"])

    peers = [f"{cells(graph['best_peer'], graph)}, {graph['best_peer'] or NOTHING}" for graph in graphs]
    header = ["", *(f"{name} ({METRICS[graph['metric']]})" for name, graph in zip(names, graphs, strict=True))]
    rows = [[own, *(cells(own, graph) for graph in graphs)], ["best of the common models", *peers]]
    return Table("Graphs of other kinds: metric on test nodes in percent.", header, rows)


def confidence_table(numbers: Numbers, scores: Sequence[str]) -> Table:
    """Scores of calibrated probabilities, with differences to the peer of the lowest validation log loss."""

    def cell(model: Numbers) -> str:
        return " / ".join(decimal(model[score]["mean"], DIGITS) for score in scores)

    rows = [
        [
            *row,
            graph["best_peer_by_log_loss"] or NOTHING,
            decimal_interval(graph["nll_difference"]),
            decimal_interval(graph["brier_difference"]),
        ]
        for row, graph in zip(_rows(numbers, "test", cell), numbers["test"].values(), strict=True)
    ]
    caption = f"Calibrated probabilities on test nodes: {' / '.join(SCORES[score] for score in scores)}; means."
    differences = ["best peer, by validation log loss", "difference of log loss", "difference of Brier score"]
    return Table(caption, ["", *numbers["titles"], *differences], rows)


def seconds_table(numbers: Numbers) -> Table:
    """CPU seconds of one training."""

    def cell(model: Numbers) -> str:
        mean = model["processor_seconds"]["mean"]
        return NOTHING if mean is None else f"{mean:.1f}"

    return Table("CPU seconds of one training, means.", ["", *numbers["titles"]], _rows(numbers, "test", cell))


def scaling_table(numbers: Numbers, nodes: str) -> Table:
    """The feature scaling of every peer."""
    _, *peers = numbers["titles"]
    rows = [
        [name, *(graph["scalings"].get(title) or NOTHING for title in peers)] for name, graph in numbers[nodes].items()
    ]
    return Table("Feature scaling chosen on validation nodes of the first split.", ["", *peers], rows)


def _rows(numbers: Numbers, nodes: str, cell: Callable[[Numbers], str]) -> list[list[str]]:
    """The name of every graph with its metric, and the cells of its models."""
    return [
        [
            f"{name} ({METRICS[graph['metric']]})",
            *(cell(graph["models"][title]) if title in graph["models"] else NOTHING for title in numbers["titles"]),
        ]
        for name, graph in numbers[nodes].items()
    ]


def decimal_interval(difference: Numbers | None) -> str:
    """A paired difference with its confidence interval, as a decimal."""
    if difference is None:
        return NOTHING
    mean, low, high = (difference[name] for name in ("mean", "low", "high"))
    text = _signed(mean)
    return text if low is None else f"{text} [{_signed(low)}, {_signed(high)}]"


def _signed(value: float) -> str:
    return f"{value:+.{DIGITS}f}".replace("-", "−")
