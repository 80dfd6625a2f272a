"""``confgcn train``: train a method on a graph, over one or several seeds."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from confgcn.cli.config_file import settings_in_file
from confgcn.cli.console import (
    AsJson,
    Coverage,
    Delta,
    Device,
    MaxError,
    MethodName,
    SplitSeed,
    Threads,
    notice,
    one_line,
    path_option,
    print_json,
)
from confgcn.cli.graph_options import takes_graph
from confgcn.cli.train_summary import result_warnings, show_summary
from confgcn.distributed.launch import is_started_by_launcher, launch
from confgcn.exceptions import UsageError
from confgcn.io.toml import parse_value, read_toml
from confgcn.limits import MAX_SEED, MAX_SEEDS, MAX_WORKERS

if TYPE_CHECKING:
    from confgcn.runs.graph_input import GraphInput
    from confgcn.runs.request import RunRequest


@takes_graph
def train(
    graph_input: GraphInput,
    context: typer.Context,
    method: MethodName = "confgcn",
    preset: Annotated[str, typer.Option(help="Named settings of the method: docs/choosing.md.")] = "default",
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Seed of the first run.")] = 0,
    seeds: Annotated[int, typer.Option(min=1, max=MAX_SEEDS, help="Number of runs, with seeds counting up.")] = 1,
    split_seed: SplitSeed = 0,
    fixed_split: Annotated[
        bool, typer.Option("--fixed-split", help="Use the same split in every run, where none is published.")
    ] = False,
    influence: Annotated[
        Literal["chosen", "learned", "agreement", "distance", "uniform"] | None,
        typer.Option(
            help="ConfGCN only: weights of the neighbours. Default preset: learned where it predicts held-out labels "
            "clearly better (chosen), always learned, or uniform. Other presets: agreement, distance, or uniform."
        ),
    ] = None,
    epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs, instead of the preset's.")] = None,
    coverage: Coverage = None,
    max_error: MaxError = None,
    delta: Delta = None,
    settings: Annotated[Path | None, path_option(help="TOML file of settings that replace the preset's.")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Replace one setting.")] = None,
    out: Annotated[Path | None, path_option(help="Run directory; by default a new one under runs/.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the run in --out.")] = False,
    threads: Threads = 1,
    device: Device = "cpu",
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            max=MAX_WORKERS,
            help="Processes that train together, each on a shard of the graph; not with the default preset.",
        ),
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Train a method on a graph and write a run directory.

    For example: confgcn train mygraph/ --out runs/mine

    or: confgcn train --edges links.csv --nodes people.csv --label team --add-features degree

    or: confgcn train cora --seeds 20

    or: torchrun --nproc-per-node 2 -m confgcn train shards/ --preset consensus --out runs/large
    """
    if resume and overwrite:
        raise UsageError("--resume and --overwrite contradict each other: give one of them")
    if resume and out is None:
        raise UsageError("--resume needs --out, the run directory to continue")
    is_worker = is_started_by_launcher()
    if is_worker and str(workers) not in ("1", os.environ["WORLD_SIZE"]):
        raise UsageError(f"--workers {workers}: the launcher has started {os.environ['WORLD_SIZE']}; leave it out")
    files = [settings_in_file(context), (settings, read_toml(settings) if settings else {})]
    options = {"influence": influence, "epochs": epochs, "coverage": coverage, "max_error": max_error, "delta": delta}
    overrides = _overrides(set_ or [], options)

    from confgcn.cli.progress import KeepFreedMemory, ProgressBar
    from confgcn.io.allocator import return_freed_memory
    from confgcn.runs.distributed import train_distributed
    from confgcn.runs.request import RunRequest
    from confgcn.runs.settings import joined_settings
    from confgcn.runs.train import train as run

    request = RunRequest(
        graph=graph_input,
        method=method,
        preset=preset,
        seed=seed,
        seeds=seeds,
        split_seed=split_seed,
        fixed_split=fixed_split,
        threads=threads,
        device=device,
        overrides=joined_settings(method, preset, files) | overrides,
        out=out,
        if_exists="resume" if resume else "overwrite" if overwrite else "refuse",
    )
    if workers > 1 and not is_worker:
        _launch(workers, request)
        return
    bar = ProgressBar(one_line(f"{graph_input.name}, {method}"))
    try:
        if is_worker:
            return_freed_memory()
            summary = train_distributed(request, notify=notice, callbacks=[bar])
        else:
            summary = run(request, notify=notice, callbacks=[bar, KeepFreedMemory()])
    finally:
        bar.close()
    if summary is None:
        return
    if as_json:
        for text in result_warnings(summary):
            notice(text)
        print_json(summary)
    else:
        show_summary(summary)


def _launch(workers: int, request: RunRequest) -> None:
    """Start the same command once per worker, after checking the request."""
    from confgcn.runs.directory import check_claimable, free_directory
    from confgcn.runs.distributed import check_request

    arguments = sys.argv[1:]
    name = f"{request.graph_input.name}-{workers}-workers"
    check_request(replace(request, out=request.out or name), workers)
    if request.out is None:
        arguments += ["--out", str(free_directory(Path("runs"), name))]
    else:
        check_claimable(Path(request.out), request.if_exists)
    code = launch(workers, arguments)
    if code:
        raise typer.Exit(code)


def _overrides(assignments: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """The settings of ``--set`` and of the options that replace a setting, which take precedence."""
    settings: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals:
            raise UsageError(f"--set {assignment!r}: expected NAME=VALUE, such as epochs=200")
        settings[name.strip()] = parse_value(value)
    return settings | {name: value for name, value in options.items() if value is not None}
