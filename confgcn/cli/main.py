"""The entry point: assembles the commands and turns every error into one message and one exit code."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import confgcn
from confgcn.cli import (
    convert,
    datasets,
    doctor,
    evaluate,
    explain,
    inspect,
    methods,
    predict,
    report,
    reproduce,
    train,
    tune,
)
from confgcn.cli.console import complain
from confgcn.exceptions import ConfGCNError, ResourceError

_OUT_OF_MEMORY = "can't allocate memory"

app = typer.Typer(
    name="confgcn",
    help="Labels for the rest of your graph, with confidences.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("inspect")(inspect.inspect)
app.command("train")(train.train)
app.command("report")(report.report)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.command("explain")(explain.explain)
app.command("convert")(convert.convert)
app.command("datasets")(datasets.datasets)
app.command("methods")(methods.methods)
app.command("tune")(tune.tune)
app.command("reproduce")(reproduce.reproduce)
app.command("doctor")(doctor.doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"confgcn {confgcn.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that stand before the command."""


def main() -> NoReturn:
    """Run the command line and exit with the code that says what happened."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    try:
        app()
    except (ConfGCNError, OSError, MemoryError, RuntimeError) as error:
        if "--debug" in sys.argv or not _is_expected(error):
            raise
        complain(_message(error))
        sys.exit(error.exit_code if isinstance(error, ConfGCNError) else ResourceError.exit_code)
    raise AssertionError("typer exits by itself")


def _is_expected(error: Exception) -> bool:
    # torch reports a failed allocation as a plain RuntimeError; any other of those is a bug.
    return not isinstance(error, RuntimeError) or isinstance(error, ConfGCNError) or _OUT_OF_MEMORY in str(error)


def _message(error: Exception) -> str:
    if isinstance(error, MemoryError) or _OUT_OF_MEMORY in str(error):
        from confgcn.training.memory import available_memory

        asked = re.search(r"(\d+) bytes", str(error))
        wanted = f"{int(asked[1]):,} bytes more were needed, " if asked else ""
        return f"not enough memory for this graph and these settings: {wanted}{available_memory():,} are available"
    if isinstance(error, OSError) and error.filename and not isinstance(error, ConfGCNError):
        return f"{Path(error.filename).absolute()}: {error.strerror}"
    return str(error)


def _leave(number: int, frame: Any) -> NoReturn:
    """Before a run handles signals itself nothing can be lost; an exception could be raised inside an import."""
    complain("stopped")
    os._exit(128 + number)
