"""Options and output that the commands share: results go to stdout, messages to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from confgcn.limits import MAX_SPLIT_SEED, MAX_THREADS
from confgcn.models.registry import METHODS, check_method


def path_option(*names: str, **about: Any) -> Any:
    """An option whose value is a path. Its reader reports an unreadable file, which is no error of usage."""
    return typer.Option(*names, readable=False, **about)


def _known_method(name: str) -> str:
    check_method(name)
    return name


MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        help="Method to train; `confgcn methods` lists them.",
        callback=_known_method,
        autocompletion=lambda incomplete: [name for name in METHODS if name.startswith(incomplete)],
    ),
]
DataDir = Annotated[
    Path | None, path_option("--data-dir", help="Folder with the benchmark files; default $CONFGCN_DATA.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
SplitSeed = Annotated[
    int, typer.Option("--split-seed", min=0, max=MAX_SPLIT_SEED, help="Seed of the split where none is published.")
]

Device = Annotated[
    str,
    typer.Option(
        help="Torch device to train on: cpu, cuda, cuda:1, mps. Devices other than the CPU have not been tested."
    ),
]
TARGETS = "Targets of prediction sets and decisions"
Coverage = Annotated[
    float | None,
    typer.Option(help="Share of sets that must contain the true label; default 0.9.", rich_help_panel=TARGETS),
]
MaxError = Annotated[
    float | None, typer.Option(help="Highest error rate of accepted labels; default 0.05.", rich_help_panel=TARGETS)
]
Delta = Annotated[
    float | None,
    typer.Option(help="Probability that --max-error is exceeded; default 0.1.", rich_help_panel=TARGETS),
]
RunPath = Annotated[Path, typer.Argument(help="Run directory, as `confgcn train` wrote it.", readable=False)]
Threads = Annotated[int, typer.Option("--threads", min=1, max=MAX_THREADS, help="Number of threads.")]


LONGEST_MESSAGE = 900  # characters: names from files may be of any length
KEPT_AT_THE_END = 250  # characters: the end of a message tells what to do


def print_error(message: str) -> None:
    """An error, on stderr."""
    typer.echo(f"error: {_message(message)}", err=True)


def notice(message: str) -> None:
    """Something a user should know, on stderr."""
    typer.echo(f"note: {_message(message)}", err=True)


def print_paths(paths: Iterable[Path | str]) -> None:
    """Paths of written files, one per line, on stdout."""
    for path in paths:
        typer.echo(one_line(str(path)))


def print_json(payload: dict[str, Any]) -> None:
    """One JSON object on stdout; ASCII with escapes where the encoding of stdout lacks a character."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(payload, allow_nan=False)
    typer.echo(text)


def split_names(given: list[str] | None) -> tuple[str, ...]:
    """The names of an option that may be repeated or hold several names with commas, each once."""
    return tuple(dict.fromkeys(name.strip() for text in given or () for name in text.split(",")))


def one_line(text: str) -> str:
    """The text with line breaks escaped: a name from a file must not start a new row of output."""
    return printable(text).replace("\n", "\\n")


def _message(text: str) -> str:
    """The text shortened, further lines indented so that none is taken for another message."""
    shown = printable(text).replace("\n", "\n  ")
    if len(shown) <= LONGEST_MESSAGE:
        return shown
    return f"{shown[: LONGEST_MESSAGE - KEPT_AT_THE_END]} ... {shown[-KEPT_AT_THE_END:]}"


def printable(text: str) -> str:
    """The text with control codes escaped: those in names from files must not reach the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
