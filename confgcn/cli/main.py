"""The entry point: assembles the commands and turns every error into one message and one exit code."""

from __future__ import annotations

import os
import re
import signal
import sys
import traceback
from contextlib import suppress
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
    partition,
    predict,
    report,
    reproduce,
    train,
    tune,
)
from confgcn.cli.console import print_error
from confgcn.distributed.launch import is_started_by_launcher
from confgcn.exceptions import ConfGCNError, ResourceError, UsageError
from confgcn.io.memory import describe_available, limits_set
from confgcn.io.signals import stop_signals

# Messages of torch, the library loader and Python without memory or other resources; their classes do not show it.
_OUT_OF_MEMORY = re.compile(r"can.?t allocate memory|cannot allocate memory|failed to map segment", re.IGNORECASE)
_OUT_OF_RESOURCES = re.compile(r"can't start new thread|too many open files|\bError 24\b", re.IGNORECASE)
_InvalidCommand: type[Exception] = typer.BadParameter.__mro__[1]  # the base of all parsing errors, which typer hides

app = typer.Typer(
    name="confgcn",
    help="Predict the labels of the nodes of a graph, with calibrated confidences.",
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
app.command("partition")(partition.partition)
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
    """Options before the command."""


def main() -> NoReturn:
    """Run the command line and exit with a code of ``confgcn.exceptions``."""
    for number in stop_signals():
        signal.signal(number, _exit_at_once)
    if "RANK" in os.environ:  # torch logs pages about a lost connection; we report it in one line
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    try:
        _check_environment()
        sys.exit(app(standalone_mode=False) or 0)
    except _InvalidCommand as error:
        _end(_parsing_message(error), UsageError.exit_code)
    except (ConfGCNError, OSError, MemoryError, RuntimeError, ImportError) as error:
        if not _is_expected(error):
            raise
        if "--debug" in sys.argv:
            traceback.print_exc()
        _end(_message(error), error.exit_code if isinstance(error, ConfGCNError) else ResourceError.exit_code)


def _end(message: str, code: int) -> NoReturn:
    """Print the error and exit. Of several workers one prints it, and all exit with its code."""
    if _is_worker():
        from confgcn.distributed.rendezvous import reported_by_another

        reported = reported_by_another(code)
        if reported is not None:
            sys.exit(reported)
    if message:
        print_error(message)
    sys.exit(code)


def _is_worker() -> bool:
    with suppress(UsageError):
        return is_started_by_launcher()
    return False


def _parsing_message(error: Any) -> str:
    """typer's message in the form of our errors, with the value that was given."""
    message = error.format_message()
    if not message:  # no arguments were given, and help was shown
        return ""
    cause: Any = getattr(error.__cause__, "errors", list)()
    given = f", got {cause[0]['input']!r}" if cause else ""
    hint = f"; see {error.ctx.command_path} --help" if error.ctx else ""
    return f"{message.removesuffix('.')}{given}{hint}"


def _check_environment() -> None:
    """Report conditions that would make libraries end the process without a helpful message."""
    try:
        Path.cwd()
    except OSError:
        raise ResourceError("the working directory no longer exists: change to one that does") from None
    for limit, allowed in limits_set().items():
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")  # each thread needs its own memory
        if allowed < limit.fewest:
            allowance = f"this process may use {allowed:,} bytes ({limit.command}), and needs {limit.fewest:,}"
            raise ResourceError(f"not enough memory: {allowance}")


def _is_expected(error: Exception) -> bool:
    # A RuntimeError or ImportError is a bug unless its message shows that memory or another resource is missing.
    if isinstance(error, ConfGCNError) or not isinstance(error, RuntimeError | ImportError):
        return True
    return bool(_OUT_OF_MEMORY.search(str(error)) or _OUT_OF_RESOURCES.search(str(error)))


def _message(error: Exception) -> str:
    if isinstance(error, ConfGCNError):
        return str(error)
    if isinstance(error, MemoryError) or _OUT_OF_MEMORY.search(str(error)):
        return f"not enough memory for this graph and these settings: {_shortage(error)}"
    if isinstance(error, OSError) and isinstance(error.filename, str):
        return f"{Path(error.filename).absolute()}: {error.strerror}"
    return str(error)


def _shortage(error: Exception) -> str:
    if isinstance(error, ImportError):  # of a library that is needed to find the available memory
        return str(error)
    requested = re.search(r"(\d+) bytes", str(error))
    wanted = f"{int(requested[1]):,} bytes more were needed, " if requested else ""
    return f"{wanted}{describe_available()}"


def _exit_at_once(number: int, frame: Any) -> NoReturn:
    """Until a run handles signals itself nothing can be lost. An exception could be raised inside an import."""
    if not _is_worker():  # the launcher reports it, once
        with suppress(OSError):
            os.write(2, b"error: stopped\n")  # not through the stream, which may be in the middle of another message
    os._exit(128 + number)
