"""``confgcn convert``: write a graph in another format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from confgcn.cli.console import AsJson, notice, path_option, print_json, print_paths
from confgcn.cli.graph_options import takes_graph
from confgcn.exceptions import UsageError

if TYPE_CHECKING:
    from confgcn.runs.graph_input import GraphInput


@takes_graph
def convert(
    graph_input: GraphInput,
    *,
    out: Annotated[Path, path_option(help="A .npz or .graphml file, or a folder for tables or with --mapped.")],
    tables: Annotated[Literal["csv", "parquet"], typer.Option(help="Format of tables.")] = "csv",
    mapped: Annotated[
        bool, typer.Option("--mapped", help="Write a memory-mapped folder, for graphs larger than memory.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace existing files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a graph in another format; every id, label and number is kept.

    For example: confgcn convert mygraph/ --out mygraph.graphml

    or: confgcn convert demo --out papers/ --tables parquet, and then: confgcn train papers/

    or, for a graph larger than memory: confgcn convert arrays/ --out large --mapped
    """
    from confgcn.runs.graph_input import input_files

    # realpath, because it also resolves links that point at each other
    target, *inputs = (Path(os.path.realpath(path)) for path in (out, *input_files(graph_input)))
    if any(target in (path, path.parent) for path in inputs):
        raise UsageError(f"{out} is the input or its folder: a graph is not written over itself; choose another --out")
    files = _write_mapped(graph_input, out, overwrite) if mapped else _write(graph_input, out, tables, overwrite)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        print_paths(files)


def _write(graph_input: GraphInput, out: Path, tables: Literal["csv", "parquet"], overwrite: bool) -> list[Path]:
    from confgcn.data.formats.registry import write_graph

    raw = graph_input.raw()
    for text in raw.notices:
        notice(text)
    return write_graph(raw, out, folder_format=tables, overwrite=overwrite)


def _write_mapped(graph_input: GraphInput, out: Path, overwrite: bool) -> list[Path]:
    from confgcn.data.formats.store_writing import write_store
    from confgcn.io.signals import stop_request
    from confgcn.runs.graph_input import arrays_for_mapping

    with stop_request() as stop, arrays_for_mapping(graph_input) as arrays:
        stop.at_once = True  # an unfinished folder is removed
        for text in arrays.notices:
            notice(text)
        return [write_store(arrays, out, overwrite=overwrite)]
