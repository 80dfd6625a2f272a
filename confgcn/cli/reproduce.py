"""``confgcn reproduce``: reproduce the paper's tables and figures."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import confgcn
from confgcn.cli.console import AsJson, DataDir, path_option, print_error, print_json, print_paths, split_names
from confgcn.exceptions import UsageError
from confgcn.limits import MAX_SEEDS, MAX_THREADS

# Names of reproduction.artefacts, which only a checkout has.
CHOICES = (
    "table1, table2, figure1, figure2, figure3, figure4, claims; all for these; "
    "overview, confidence, presets, targets, robustness, influence, ablations"
)


def reproduce(
    names: Annotated[list[str], typer.Argument(help=f"{CHOICES}.", metavar="NAME...")],
    seeds: Annotated[int, typer.Option(min=1, max=MAX_SEEDS, help="Runs per variant, with seeds 0, 1, ...")] = 10,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Graphs instead of the paper's; separated by commas, or repeated.")
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option(help="Only these methods; separated by commas, or repeated.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, max=MAX_THREADS, help="Processes of one thread each; default: one per core.")
    ] = None,
    out: Annotated[Path, path_option(help="Folder of results. Runs recorded there are not repeated.")] = Path(
        "reproduction/results"
    ),
    development: Annotated[
        Path | None,
        path_option(help="Folder of further graphs for the last four; default: development in $CONFGCN_DATA."),
    ] = None,
    validation_only: Annotated[
        bool, typer.Option("--validation-only", help="For robustness and ablations: measure and show no test nodes.")
    ] = False,
    render_only: Annotated[
        bool, typer.Option("--render-only", help="Start no runs: use those recorded in --out.")
    ] = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Reproduce tables and figures of the paper (in a checkout of the repository).

    Performs the missing runs, writes the numbers and renders them. An interrupted command continues where it stopped.

    For example: confgcn reproduce figure3 --jobs 2
    """
    require_checkout()

    from reproduction.folder import render
    from reproduction.jobs import Scope
    from reproduction.progress import ProgressBar
    from reproduction.reproduce import ReproductionRequest
    from reproduction.reproduce import reproduce as run

    scope = Scope(
        seeds=seeds,
        datasets=split_names(datasets),
        methods=split_names(methods),
        data_dir=data_dir,
        development=development,
        validation_only=validation_only,
    )
    request = ReproductionRequest(tuple(names), scope, processes=jobs or _cores(), out=out, render_only=render_only)
    bar = ProgressBar()
    try:
        failures = run(request, bar)
    finally:
        bar.close()
    for name, failure in failures.items():
        print_error(f"{name}: {failure.reason}")
    files = render(out, request.names)
    if as_json:
        reasons = {name: failure.reason for name, failure in failures.items()}
        print_json({"files": [str(file) for file in files], "failures": reasons})
    else:
        print_paths(files)
    if failures:
        raise typer.Exit(next(iter(failures.values())).exit_code)


def require_checkout() -> None:
    """Make the package ``reproduction`` importable, which is beside ``confgcn`` in a checkout and not in the wheel."""
    root = Path(confgcn.__file__).resolve().parents[1]
    if not (root / "reproduction" / "reproduce.py").is_file():
        raise UsageError(
            "confgcn reproduce works only in a checkout of the repository: the experiments of the paper are not part "
            f"of the installed package ({root / 'confgcn'}); clone the repository and run pip install -e . there"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
