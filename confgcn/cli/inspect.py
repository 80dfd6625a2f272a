"""``confgcn inspect``: check and describe a graph before training."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from confgcn.cli.console import AsJson, SplitSeed, one_line, print_json
from confgcn.cli.graph_options import takes_graph

if TYPE_CHECKING:
    from confgcn.data.statistics import GraphStatistics
    from confgcn.runs.graph_input import GraphInput


@takes_graph
def inspect(
    graph_input: GraphInput,
    split_seed: SplitSeed = 0,
    as_json: AsJson = False,
) -> None:
    """Check a graph before training: a summary, warnings, and statistics.

    For example: confgcn inspect mygraph/

    or, for the row of the paper's Table 1: confgcn inspect cora
    """
    from confgcn.data.inspection import inspection_notices
    from confgcn.runs.graph_input import load_for_inspection

    loaded, statistics = load_for_inspection(graph_input, split_seed)
    notices = inspection_notices(loaded, statistics)
    if as_json:
        print_json({**asdict(statistics), "notices": [asdict(notice) for notice in notices]})
        return
    for notice in notices:
        typer.echo(one_line(f"{'!' if notice.is_warning else ' '} {notice.text}"))
    typer.echo()
    for name, value in _rows(statistics):
        typer.echo(one_line(f"{name:<58} {value}"))


def _rows(s: GraphStatistics) -> list[tuple[str, str]]:
    return [
        ("nodes", f"{s.nodes:,}"),
        ("edges: entries as listed", f"{s.edges.listed:,}"),
        ("edges: entries as listed, halved", f"{s.listed_halved:,.0f}"),
        ("edges: unique and undirected, without self loops", f"{s.edges.unique:,}"),
        ("edges: unique, counted in both directions", f"{2 * s.edges.unique:,}"),
        (
            "duplicate entries / self loops / listed in one direction",
            f"{s.edges.duplicates} / {s.edges.loops} / {s.edges.one_way}",
        ),
        ("classes", f"{s.classes}"),
        ("features / stored values", f"{s.features:,} / {s.stored_features:,}"),
        ("label mismatch: between training nodes, of all edges", _share(s.label_mismatch.train_edges_of_all)),
        ("label mismatch: between training nodes, of their edges", _share(s.label_mismatch.train_edges_of_train)),
        ("label mismatch: training nodes with one, of all nodes", _share(s.label_mismatch.train_nodes_of_all)),
        ("label mismatch: all labels, of all edges", _share(s.label_mismatch.all_labels)),
        ("homophily: edges / nodes", f"{_share(s.edge_homophily)} / {_share(s.node_homophily)}"),
        ("label rate |V_l| / |V|", _share(s.label_rate)),
        ("train / validation / test", " / ".join(f"{size:,}" for size in s.split.values())),
        ("degree: lowest / median / mean / highest", " / ".join(f"{value:.4g}" for value in s.degree.values())),
        ("isolated nodes", f"{s.isolated_nodes:,}"),
        (
            "connected components / without a training label",
            f"{s.components:,} / {s.components_without_training_label:,}",
        ),
        (
            "nodes in components without a training label / test nodes",
            f"{s.nodes_without_training_label_in_reach:,} / {s.test_nodes_without_training_label_in_reach:,}",
        ),
        *(
            (f"class {name}: nodes / training nodes", f"{size:,} / {s.train_class_sizes[name]:,}")
            for name, size in s.class_sizes.items()
        ),
    ]


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
