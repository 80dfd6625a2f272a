"""``confgcn explain``: the effect of other nodes on the prediction for a node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confgcn.cli.console import AsJson, DataDir, RunPath, one_line, print_json

if TYPE_CHECKING:
    from torch import Tensor

    from confgcn.confidence.explanations import Explanation
    from confgcn.graph import Graph

MOST_SHOWN = 12  # nodes in the table; --json lists all
MEANINGS = {
    "edge": "change: log-probability with the neighbour minus that of the graph without the edge to it (raw)",
    "contribution": "change: log-probability with the node minus that without its contribution (raw), influences "
    "fixed; weight: its share in what the prediction is computed from",
}


def explain(
    run: RunPath,
    node: Annotated[str, typer.Argument(help="Name of the node, as in predictions.csv.")],
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Show how each neighbour, or each node that contributes, changes the prediction for a node.

    For example: confgcn explain runs/demo-confgcn 35
    """
    from confgcn.runs.saved import load_run

    saved = load_run(run, data_dir=data_dir)
    explanation = saved.explain(node)
    record = _record(saved.prepared, explanation, saved.probabilities[explanation.node])
    if as_json:
        print_json(record)
    else:
        _show(record)


def _record(graph: Graph, explanation: Explanation, probabilities: Tensor) -> dict[str, Any]:
    names = graph.class_names

    def by_label(values: Any) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    return {
        "node": graph.node_names[explanation.node],
        "label": names[explanation.label],
        "probabilities": by_label(probabilities),
        "raw_probabilities": by_label(explanation.log_probabilities.exp()),
        "removed": explanation.removed,
        "neighbours_not_tried": explanation.not_tried,
        "uses_edges": explanation.uses_edges,
        "label_without_neighbours": names[int(explanation.without_all.argmax())],
        "effects": [
            {
                "neighbour": effect.name,
                "distance": effect.distance,
                "influence": effect.influence,
                "weight": effect.weight,
                "change": by_label(effect.change),
                "label_without": names[effect.label_without],
                "decisive": effect.decisive,
            }
            for effect in explanation.effects
        ],
    }


def _show(record: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    label = record["label"]
    probability = record["probabilities"][label]
    console.print(Text(one_line(f"{record['node']}: {label}, probability {probability:.1%}")))
    if not record["uses_edges"]:
        console.print(
            "no neighbour changes this prediction: the node has none, or the trained method does not use edges"
        )
        return
    has_weights = record["removed"] == "contribution"
    table = Table(title="change of log-probabilities by each node", title_justify="left")
    share = ("distance", "weight") if has_weights else ("influence",)
    for heading in ("node", *share, label, "largest increase", "largest decrease", "label without it"):
        table.add_column(Text(one_line(heading)), justify="left" if heading == "node" else "right")
    for effect in record["effects"][:MOST_SHOWN]:
        table.add_row(*(Text(one_line(cell)) for cell in _cells(effect, label, has_weights=has_weights)))
    console.print(table)
    console.print(MEANINGS[record["removed"]])
    left, not_tried = len(record["effects"]) - MOST_SHOWN, record["neighbours_not_tried"]
    if left > 0:
        console.print(f"{left} more nodes with smaller changes: see --json")
    if not_tried:
        console.print(f"{not_tried} further nodes were not evaluated")
    console.print(Text(one_line(f"label without any other node: {record['label_without_neighbours']}")))


def _cells(effect: dict[str, Any], label: str, *, has_weights: bool) -> Iterator[str]:
    change = effect["change"]
    highest, lowest = max(change, key=change.__getitem__), min(change, key=change.__getitem__)
    yield effect["neighbour"]
    if has_weights:
        yield str(effect["distance"])
        yield f"{effect['weight']:.1%}"
    else:
        yield "–" if effect["influence"] is None else f"{effect['influence']:.3f}"
    yield f"{change[label]:+.3f}"
    yield f"{highest} {change[highest]:+.3f}"
    yield f"{lowest} {change[lowest]:+.3f}"
    yield effect["label_without"] if effect["decisive"] else "unchanged"
