"""The options that describe a graph, shared by every command that takes one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from confgcn.cli.config_file import ConfigFile
from confgcn.cli.console import DataDir, notice, path_option, split_names
from confgcn.data.graph_names import GRAPH_NAMES, check_graph_name, is_path
from confgcn.exceptions import UsageError

if TYPE_CHECKING:
    from confgcn.runs.graph_input import GraphInput

FILES, TABLES = "A graph of your own", "Columns of your tables"


def _complete_graph(incomplete: str) -> list[str]:
    return [name for name in GRAPH_NAMES if name.startswith(incomplete)]


def graph_options(
    graph: Annotated[
        str | None,
        typer.Argument(
            help="A name of `confgcn datasets`, a folder of tables or arrays, or a .npz or .graphml file.",
            autocompletion=_complete_graph,
        ),
    ] = None,
    edges: Annotated[
        Path | None, path_option(help="Table of edges: CSV, TSV (also .gz) or Parquet.", rich_help_panel=FILES)
    ] = None,
    nodes: Annotated[
        Path | None, path_option(help="Table of nodes: id, label, features.", rich_help_panel=FILES)
    ] = None,
    features: Annotated[
        Path | None, path_option(help="Further features, .npy or .npz, joined by id.", rich_help_panel=FILES)
    ] = None,
    add_features: Annotated[
        list[str] | None,
        typer.Option(help="degree, positional or identity: computed from the edges.", rich_help_panel=FILES),
    ] = None,
    validation: Annotated[
        float, typer.Option(help="Share of the labels to validate on; 0: cross-validation.", rich_help_panel=FILES)
    ] = 0.0,
    test: Annotated[
        float, typer.Option(help="Share of the labels to hold out for a test.", rich_help_panel=FILES)
    ] = 0.0,
    source: Annotated[str | None, typer.Option(help="Column of the source of an edge.", rich_help_panel=TABLES)] = None,
    target: Annotated[str | None, typer.Option(help="Column of its target.", rich_help_panel=TABLES)] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="Column of the id of a node.", rich_help_panel=TABLES)
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column of the label; blank: unknown.", rich_help_panel=TABLES)
    ] = None,
    split: Annotated[
        str | None, typer.Option(help="Column of train, validation or test.", rich_help_panel=TABLES)
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Leave this column out.", rich_help_panel=TABLES)] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(help="Read this column as categories, even if it has numbers.", rich_help_panel=TABLES),
    ] = None,
    impute: Annotated[
        bool, typer.Option("--impute", help="Fill missing values with the column's mean.", rich_help_panel=TABLES)
    ] = False,
    allow_edgeless: Annotated[
        bool, typer.Option("--allow-edgeless", help="Accept a graph without edges.", rich_help_panel=TABLES)
    ] = False,
    data_dir: DataDir = None,
    config: ConfigFile = None,
) -> GraphInput:
    """The graph input that these options describe."""
    _check_named(graph, edges)

    from confgcn.data.formats.table import TableOptions
    from confgcn.data.structural import KINDS, check_structural
    from confgcn.runs.graph_input import GraphFiles, NamedGraph, files_input
    from confgcn.runs.stored_graph import Shares

    shares = Shares(validation, test)
    structural = split_names(add_features)
    check_structural(structural)
    if str(features) in KINDS and features is not None and not features.exists():
        raise UsageError(f"--features {features}: no such file; to compute them: --add-features {features}")
    options = TableOptions(
        source=source,
        target=target,
        node_id=id_column,
        label=label,
        split=split,
        ignore=tuple(ignore or ()),
        categorical=tuple(categorical or ()),
        impute=impute,
        allow_edgeless=allow_edgeless,
    )
    if graph in GRAPH_NAMES:
        if edges or nodes or features or structural or shares.any or options != TableOptions():
            raise UsageError(f"{graph} is a data set: leave out options for files, columns and splits")
        if Path(str(graph)).exists():
            notice(f"{graph} is the data set of that name; for the file or folder here, give ./{graph}")
        return NamedGraph(str(graph), data_dir)
    path = Path(graph) if graph else None
    return files_input(GraphFiles(path, edges, nodes, features, options, structural, shares))


def takes_graph(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``graph_options`` to a command, whose first argument is the graph input that they describe."""
    shared = inspect.signature(graph_options).parameters
    hints = {**_hints(command), **_hints(graph_options)}

    @functools.wraps(command)
    def with_graph(**given: Any) -> None:
        described = {name: given.pop(name) for name in shared}
        with _also_read_from(described["config"]):
            command(graph_options(**described), **given)

    own = list(inspect.signature(command).parameters.values())[1:]
    merged = [
        parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in (*shared.values(), *own)
    ]
    with_graph.__signature__ = inspect.Signature(merged)  # type: ignore[attr-defined]
    with_graph.__annotations__ = {parameter.name: parameter.annotation for parameter in merged}
    return with_graph


@contextmanager
def _also_read_from(config: Path | None) -> Iterator[None]:
    """Name the ``--config`` file in errors of usage: the option may come from it instead of the command line."""
    try:
        yield
    except UsageError as error:
        if config is None or str(config) in str(error):
            raise
        raise UsageError(f"{error} (options are read from {config} too)") from None


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of the parameters; ``GraphInput``, which is imported only for type checking, is Any."""
    return get_type_hints(function, include_extras=True, localns={"GraphInput": Any})


def _check_named(graph: str | None, edges: Path | None) -> None:
    """Check that a graph is given and exists, before anything slow is imported."""
    if not graph and edges is None:
        raise UsageError("no graph: give a name of `confgcn datasets`, a path, or --edges and --nodes")
    if graph and not is_path(graph):
        try:
            check_graph_name(graph)
        except UsageError as error:
            raise UsageError(f"{error}; nor is there a file or folder {Path(graph).absolute()}") from None
