"""``confgcn convert``: a graph in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from confgcn.cli.console import AsJson, notice, print_json, print_paths
from confgcn.cli.graph_options import takes_graph
from confgcn.exceptions import UsageError

if TYPE_CHECKING:
    from confgcn.experiments.graph_source import GraphSource


@takes_graph
def convert(
    source: GraphSource,
    *,
    out: Annotated[Path, typer.Option(help="A .npz or .graphml file, or a folder for tables.")],
    tables: Annotated[Literal["csv", "parquet"], typer.Option(help="Format of tables.")] = "csv",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a graph in another format; every id, label and number is kept.

    For example: confgcn convert mygraph/ --out mygraph.graphml

    or: confgcn convert demo --out demo/ --tables parquet
    """
    from confgcn.data.graph_output import write_graph
    from confgcn.experiments.graph_source import files_of
    from confgcn.training.files import write_atomic

    if any(out.resolve() in (path.resolve(), path.resolve().parent) for path in files_of(source)):
        raise UsageError(f"{out} is what is read, or its folder: a graph is not written over itself")
    raw = source.raw()
    for text in raw.remarks:
        notice(text)
    files = write_graph(raw, out, write=write_atomic, tables=tables, overwrite=overwrite)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        print_paths(files)
