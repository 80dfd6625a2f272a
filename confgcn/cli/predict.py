"""``confgcn predict``: labels for nodes that were not there at training."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from confgcn.cli.console import AsJson, Coverage, DataDir, Delta, MaxError, notice, path_option, print_json, print_paths
from confgcn.cli.evaluate import RunPath
from confgcn.exceptions import UsageError

COLUMNS = "Columns, where they are not those of the training"


def predict(
    run: RunPath,
    edges: Annotated[
        Path | None, path_option(help="Table of new edges, to and between new nodes; old ones may be in it too.")
    ] = None,
    nodes: Annotated[Path | None, path_option(help="Table of new nodes, with the columns of the training.")] = None,
    features: Annotated[Path | None, path_option(help="Features of new nodes, as .npy or .npz.")] = None,
    graph: Annotated[Path | None, path_option(help="Instead: a folder, .npz or .graphml that has all.")] = None,
    update_existing: Annotated[
        bool, typer.Option("--update-existing", help="Predict nodes of the training anew, with features given now.")
    ] = False,
    out: Annotated[
        Path | None, path_option(help="Table to write, .csv or .parquet; by default new_nodes.csv in the run.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
    source: Annotated[str | None, typer.Option(help="Where an edge begins.", rich_help_panel=COLUMNS)] = None,
    target: Annotated[str | None, typer.Option(help="Where it ends.", rich_help_panel=COLUMNS)] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Id of a node.", rich_help_panel=COLUMNS)] = None,
    label: Annotated[
        str | None, typer.Option(help="Label, where it is known: to compare.", rich_help_panel=COLUMNS)
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Leave this column out, too.", rich_help_panel=COLUMNS)
    ] = None,
    impute: Annotated[
        bool, typer.Option("--impute", help="Fill gaps with the mean of the training.", rich_help_panel=COLUMNS)
    ] = False,
    coverage: Coverage = None,
    max_error: MaxError = None,
    delta: Delta = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Predict new nodes with the weights of a run; without any, write the predictions of its own nodes to --out.

    Targets that are not given are those of the training.

    For example: confgcn predict runs/mine --edges new_links.csv --nodes new_people.csv
    """
    if edges is None and graph is None:
        _check_nothing_new({"--nodes": nodes, "--features": features, "--update-existing": update_existing}, out)

    from confgcn.runs.directory import RunDirectory
    from confgcn.runs.graph_input import GraphFiles
    from confgcn.runs.new_nodes import write_predictions

    files = None if edges is None and graph is None else GraphFiles(graph, edges, nodes, features)
    columns: dict[str, Any] = {"source": source, "target": target, "node_id": id_column, "label": label}
    columns |= {"ignore": tuple(ignore) if ignore else None, "impute": impute or None}
    target_file = out or RunDirectory(run).new_nodes
    summary = write_predictions(
        run,
        target_file,
        files,
        columns={name: value for name, value in columns.items() if value is not None},
        targets={"coverage": coverage, "max_error": max_error, "delta": delta},
        update_existing=update_existing,
        overwrite=overwrite,
        data_dir=data_dir,
    )
    for text in summary.notices:
        notice(text)
    if as_json:
        print_json(asdict(summary))
        return
    right = "" if summary.accuracy is None else f", {summary.accuracy:.1%} of those whose label is given are right"
    typer.echo(f"{summary.rows:,} rows, {summary.new:,} of new nodes{right}")
    print_paths([summary.file])


def _check_nothing_new(given: dict[str, Any], out: Path | None) -> None:
    """Without new edges nothing else can be new, and a table of old nodes is not called one of new ones."""
    named = [name for name, value in given.items() if value]
    if named:
        raise UsageError(f"{named[0]} needs --edges, the table of their edges (one with a header alone will do)")
    if out is None:
        raise UsageError("nothing new to predict: give --edges and --nodes, or --out for the run's own nodes")
