"""``confgcn predict``: labels for nodes that were not there at training."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from confgcn.cli.console import AsJson, DataDir, notice, print_json, printable
from confgcn.cli.evaluate import RunPath
from confgcn.exceptions import UsageError


def predict(
    run: RunPath,
    edges: Annotated[
        Path | None, typer.Option(help="Table of new edges, to and between new nodes; old ones may be in it too.")
    ] = None,
    nodes: Annotated[Path | None, typer.Option(help="Table of new nodes, with the columns of the training.")] = None,
    features: Annotated[Path | None, typer.Option(help="Features of new nodes, as .npy or .npz.")] = None,
    graph: Annotated[Path | None, typer.Option(help="Instead: a folder, .npz or .graphml that has all.")] = None,
    update_existing: Annotated[
        bool, typer.Option("--update-existing", help="Predict the nodes of the training anew, too.")
    ] = False,
    label: Annotated[
        str | None, typer.Option(help="Another column of labels than at training; known ones are compared.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Leave these columns out, instead of those at training.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Table to write, .csv or .parquet; by default new_nodes.csv in the run.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Predict new nodes with the weights of a run; without any, write the predictions of its own nodes again.

    Columns are those of the training unless told otherwise.

    For example: confgcn predict runs/mine --edges new_links.csv --nodes new_people.csv
    """
    if nodes is not None and edges is None:
        raise UsageError("--nodes needs --edges, the table of their edges; one with a header alone will do")

    from confgcn.experiments.graph_source import GraphFiles
    from confgcn.experiments.prediction_files import write_new_predictions
    from confgcn.training.run_directory import RunDirectory

    files = None
    if edges is not None or graph is not None:
        files = GraphFiles(graph, edges, nodes, features)
    columns = {"label": label, "ignore": tuple(ignore) if ignore else None}
    target = out or RunDirectory(run).new_nodes
    summary = write_new_predictions(
        run,
        target,
        files,
        columns={name: value for name, value in columns.items() if value is not None},
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
    typer.echo(printable(f"{summary.rows:,} rows, {summary.new:,} of new nodes{right}"))
    typer.echo(printable(summary.file))
