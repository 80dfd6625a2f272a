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
from confgcn.cli.console import complain
from confgcn.distributed.launch import is_started_by_launcher
from confgcn.exceptions import ConfGCNError, ResourceError, UsageError
from confgcn.io.memory import limits_set
from confgcn.io.signals import stop_signals

# What torch, the loader of libraries and Python say where there is no memory, and no class of error tells it.
_OUT_OF_MEMORY = re.compile(r"can.?t allocate memory|cannot allocate memory|failed to map segment", re.IGNORECASE)
_OUT_OF_RESOURCES = re.compile(r"can't start new thread|too many open files|\bError 24\b", re.IGNORECASE)
_Misuse: type[Exception] = typer.BadParameter.__mro__[1]  # of all that is wrong with words; typer has no name for it

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
    """Options that stand before the command."""


def main() -> NoReturn:
    """Run the command line and exit with the code that says what happened."""
    for number in stop_signals():
        signal.signal(number, _leave)
    if "RANK" in os.environ:  # of a lost connection torch's own log has pages; what it means is said in one line
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    try:
        _check_surroundings()
        sys.exit(app(standalone_mode=False) or 0)
    except _Misuse as error:
        _end(_misuse(error), UsageError.exit_code)
    except (ConfGCNError, OSError, MemoryError, RuntimeError, ImportError) as error:
        if not _is_expected(error):
            raise
        if "--debug" in sys.argv:
            traceback.print_exc()
        _end(_message(error), error.exit_code if isinstance(error, ConfGCNError) else ResourceError.exit_code)


def _end(message: str, code: int) -> NoReturn:
    """Of several workers one says it, and all have the code of that one."""
    if _is_worker():
        from confgcn.distributed.rendezvous import reported_by_another

        said = reported_by_another(code)
        if said is not None:
            sys.exit(said)
    if message:
        complain(message)
    sys.exit(code)


def _is_worker() -> bool:
    with suppress(UsageError):
        return is_started_by_launcher()
    return False


def _misuse(error: Any) -> str:
    """What typer has to say of the words of the command, in our way and with the value it is about."""
    message = error.format_message()
    if not message:  # there were no words, and help was shown
        return ""
    cause: Any = getattr(error.__cause__, "errors", list)()
    given = f", got {cause[0]['input']!r}" if cause else ""
    hint = f"; see {error.ctx.command_path} --help" if error.ctx else ""
    return f"{message.removesuffix('.')}{given}{hint}"


def _check_surroundings() -> None:
    """What libraries would end the process for, without a word that helps."""
    try:
        Path.cwd()
    except OSError:
        raise ResourceError("the working directory is gone: change to a folder that is there") from None
    for limit, allowed in limits_set().items():
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")  # each thread takes memory of its own
        if allowed < limit.fewest:
            found = f"this process may take {allowed:,} bytes ({limit.command}), and needs {limit.fewest:,}"
            raise ResourceError(f"not enough memory: {found}")


def _is_expected(error: Exception) -> bool:
    # Of the errors that have no class for it only those that tell of something scarce; any other one is a bug.
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
    if isinstance(error, ImportError):  # of the library that would count what is available
        return str(error)
    from confgcn.io.memory import available_memory

    asked = re.search(r"(\d+) bytes", str(error))
    wanted = f"{int(asked[1]):,} bytes more were needed, " if asked else ""
    within = [f" within the limit of {allowed:,} bytes ({limit.command})" for limit, allowed in limits_set().items()]
    return f"{wanted}{available_memory():,} are available{' and'.join(within)}"


def _leave(number: int, frame: Any) -> NoReturn:
    """Before a run handles signals itself nothing can be lost; an exception could be raised inside an import."""
    if not _is_worker():  # whose launcher says it, once
        with suppress(OSError):
            os.write(2, b"error: stopped\n")  # past the stream, which may be in the middle of another message
    os._exit(128 + number)
