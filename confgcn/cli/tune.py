"""``confgcn tune``: search a method's settings on validation accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from confgcn.cli.console import AsJson, MethodName, SplitSeed, Threads, notice, one_line, path_option, print_json
from confgcn.cli.graph_options import takes_graph
from confgcn.limits import MAX_SEEDS

if TYPE_CHECKING:
    from confgcn.runs.graph_input import GraphInput


@takes_graph
def tune(
    graph_input: GraphInput,
    *,
    space: Annotated[Path, path_option(help="TOML file of ranges, one per setting.")],
    study: Annotated[Path, path_option(help="Database of the search; an existing one is continued.")],
    method: MethodName = "confgcn",
    preset: Annotated[str, typer.Option(help="Settings to start from.")] = "default",
    trials: Annotated[int, typer.Option(min=1, help="Total number of trials, earlier calls included.")] = 40,
    seeds: Annotated[int, typer.Option(min=1, max=MAX_SEEDS, help="Runs per trial.")] = 2,
    split_seed: SplitSeed = 0,
    threads: Threads = 1,
    as_json: AsJson = False,
) -> None:
    """Search settings by mean validation accuracy; the test set is not used.

    For example: confgcn tune mygraph/ --validation 0.3 --space ranges.toml --study search.db
    """
    from confgcn.io.allocator import keep_freed_memory
    from confgcn.runs.request import RunRequest
    from confgcn.runs.tune import search

    request = RunRequest(
        graph=graph_input,
        method=method,
        preset=preset,
        seeds=seeds,
        split_seed=split_seed,
        threads=threads,
    )
    keep_freed_memory()
    best = search(request, space=space, storage=study, trials=trials, notify=notice)
    if as_json:
        print_json(best)
        return
    typer.echo(f"# validation accuracy {best['validation_accuracy']:.4f} in {best['trials']} trials of {seeds} seeds")
    for name, value in best["settings"].items():
        typer.echo(one_line(f"{name} = {str(value).lower() if isinstance(value, bool) else repr(value)}"))
