"""``confgcn convert``: a graph in another format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from confgcn.cli.console import AsJson, notice, path_option, print_json, print_paths
from confgcn.cli.graph_options import takes_graph
from confgcn.exceptions import UsageError

if TYPE_CHECKING:
    from confgcn.experiments.graph_source import GraphSource


@takes_graph
def convert(
    source: GraphSource,
    *,
    out: Annotated[Path, path_option(help="A .npz or .graphml file, or a folder for tables.")],
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
    from confgcn.files import write_together

    target, *sources = (Path(os.path.realpath(path)) for path in (out, *files_of(source)))  # also of links in a circle
    if any(target in (path, path.parent) for path in sources):
        raise UsageError(f"{out} is what is read, or its folder: a graph is not written over itself")
    raw = source.raw()
    for text in raw.remarks:
        notice(text)
    contents: dict[Path, bytes] = {}
    files = write_graph(raw, out, write=contents.__setitem__, tables=tables, overwrite=overwrite)
    write_together(contents)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        print_paths(files)
