"""``confgcn reproduce``: remake the paper's tables and figures."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import confgcn
from confgcn.cli.console import AsJson, DataDir, complain, path_option, print_json, print_paths
from confgcn.data.graph_names import check_graph_name
from confgcn.exceptions import UsageError
from confgcn.limits import MAX_SEEDS, MAX_THREADS
from confgcn.models.registry import check_method

WHAT = (
    "table1, table2, figure1, ..., figure4, claims (made in passing), all of these; confidence, overview or presets "
    "(beyond it)"
)


def reproduce(
    what: Annotated[list[str], typer.Argument(help=f"{WHAT}.")],
    seeds: Annotated[int, typer.Option(min=1, max=MAX_SEEDS, help="Runs of each kind, with seeds 0, 1, ...")] = 10,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Graphs instead of the paper's; separated by commas, or given repeatedly.")
    ] = None,
    methods: Annotated[list[str] | None, typer.Option(help="These methods alone; as above.")] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=MAX_THREADS, help="Processes of one thread each; by default one a core.")
    ] = None,
    out: Annotated[Path, path_option(help="Folder of results. What is finished there is not run again.")] = Path(
        "reproduction/results"
    ),
    render_only: Annotated[
        bool, typer.Option("--render-only", help="Run nothing: numbers and pictures of the runs that are in --out.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Remake tables and figures of the paper: run what is missing, write the numbers, render them.

    Killed and started again, it loses nothing and repeats nothing.

    For example: confgcn reproduce figure3 --jobs 2
    """
    graphs, chosen = _names(datasets, check_graph_name), _names(methods, check_method)

    _require_checkout()
    from confgcn.cli.runs_bar import RunsBar
    from reproduction.folder import render
    from reproduction.reproduce import ReproductionRequest
    from reproduction.reproduce import reproduce as run
    from reproduction.scope import Scope

    scope = Scope(seeds=seeds, datasets=graphs, methods=chosen, data_dir=data_dir)
    request = ReproductionRequest(tuple(what), scope, processes=jobs or _cores(), out=out, render_only=render_only)
    bar = RunsBar()
    try:
        failures = run(request, bar)
    finally:
        bar.close()
    for name, failure in failures.items():
        complain(f"{name}: {failure.reason}")
    files = render(out, request.what)
    if as_json:
        reasons = {name: failure.reason for name, failure in failures.items()}
        print_json({"files": [str(file) for file in files], "failures": reasons})
    else:
        print_paths(files)
    if failures:
        raise typer.Exit(next(iter(failures.values())).exit_code)


def _require_checkout() -> None:
    """The paper's experiments are in the repository, beside the package, and not in what pip installs."""
    root = Path(confgcn.__file__).parents[1]
    if not (root / "reproduction" / "__init__.py").is_file():
        raise UsageError("confgcn reproduce works in a checkout of the repository: clone it, then pip install -e .")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))


def _names(given: list[str] | None, check: Callable[[str], None]) -> tuple[str, ...]:
    names = [name.strip() for text in given or [] for name in text.split(",")]
    for name in names:
        check(name)  # an empty one is as unknown as a mistyped one
    return tuple(dict.fromkeys(names))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
