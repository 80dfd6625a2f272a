"""``confgcn partition``: divide a graph into shards, for a training by several workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from confgcn.cli.console import AsJson, SplitSeed, notice, path_option, print_json
from confgcn.cli.graph_options import takes_graph
from confgcn.limits import MAX_SHARDS

if TYPE_CHECKING:
    from confgcn.runs.graph_input import GraphInput


@takes_graph
def partition(
    graph_input: GraphInput,
    shards: Annotated[int, typer.Option(min=1, max=MAX_SHARDS, help="Number of shards, at least one per worker.")],
    out: Annotated[Path, path_option(help="New folder for the shards.")],
    by: Annotated[
        Literal["metis", "hash"] | None,
        typer.Option(help="metis: few edges between shards, the default where it is installed; hash: by number."),
    ] = None,
    split_seed: SplitSeed = 0,
    as_json: AsJson = False,
) -> None:
    """Divide a graph into shards for a training by several workers (presets consensus, released and paper).

    For example: confgcn partition cora --shards 2 --out cora-shards

    then: torchrun --nproc-per-node 2 -m confgcn train cora-shards --preset consensus --out runs/cora
    """
    from confgcn.runs.stored_graph import make_shards, partition_notices

    graph = graph_input.load(split_seed)
    for text in graph.notices():
        notice(text)
    record = make_shards(out, graph, shards, how=by, is_named=graph_input.is_named, split_seed=split_seed)
    for text in partition_notices(record, by):
        notice(text)
    crossing = record["crossing_edges"] / max(record["entries"] - record["num_nodes"], 1)
    if as_json:
        print_json({"folder": str(out), "shards": record["shards"], "crossing_share": crossing})
    else:
        typer.echo(f"{record['shards']} shards in {out}; {crossing:.1%} of the edges are between shards")
