"""``confgcn predict``: predict nodes that were added after training."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from confgcn.cli.console import (
    AsJson,
    Coverage,
    DataDir,
    Delta,
    MaxError,
    RunPath,
    notice,
    path_option,
    print_json,
    print_paths,
)
from confgcn.exceptions import UsageError

COLUMNS = "Columns, if they differ from those of the training"


def predict(
    run: RunPath,
    edges: Annotated[
        Path | None, path_option(help="Table of edges of the new nodes; known edges may be included.")
    ] = None,
    nodes: Annotated[Path | None, path_option(help="Table of new nodes, with the columns of the training.")] = None,
    features: Annotated[Path | None, path_option(help="Features of new nodes, as .npy or .npz.")] = None,
    graph: Annotated[Path | None, path_option(help="Instead of tables: a folder, .npz or .graphml file.")] = None,
    update_existing: Annotated[
        bool, typer.Option("--update-existing", help="Predict nodes of the training again, with the new features.")
    ] = False,
    out: Annotated[
        Path | None, path_option(help="Table to write, .csv or .parquet; by default new_nodes.csv in the run.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
    source: Annotated[str | None, typer.Option(help="Source of an edge.", rich_help_panel=COLUMNS)] = None,
    target: Annotated[str | None, typer.Option(help="Target of an edge.", rich_help_panel=COLUMNS)] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Id of a node.", rich_help_panel=COLUMNS)] = None,
    label: Annotated[
        str | None, typer.Option(help="Known label, to compare with the prediction.", rich_help_panel=COLUMNS)
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Further column to ignore.", rich_help_panel=COLUMNS)] = None,
    impute: Annotated[
        bool, typer.Option("--impute", help="Fill missing values with the training's mean.", rich_help_panel=COLUMNS)
    ] = False,
    coverage: Coverage = None,
    max_error: MaxError = None,
    delta: Delta = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Predict new nodes with a trained run; without --edges, write the predictions of its own nodes to --out.

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
    accuracy = "" if summary.accuracy is None else f"; accuracy on the known labels: {summary.accuracy:.1%}"
    typer.echo(f"{summary.rows:,} rows, {summary.new:,} of new nodes{accuracy}")
    print_paths([summary.file])


def _check_nothing_new(given: dict[str, Any], out: Path | None) -> None:
    """Refuse options of new nodes without --edges, and a table of the run's own nodes without --out."""
    named = [name for name, value in given.items() if value]
    if named:
        raise UsageError(f"{named[0]} needs --edges, the table of their edges (it may have only a header)")
    if out is None:
        raise UsageError("nothing new to predict: give --edges and --nodes, or --out for the run's own nodes")
