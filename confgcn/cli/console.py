"""What the commands share in speaking to people (stderr) and to programs (stdout)."""

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
    """An option that takes a path. That it may not be read is found where it is read, and is no misuse."""
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
    Path | None, path_option("--data-dir", help="Folder with the benchmark files; before $CONFGCN_DATA.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
SplitSeed = Annotated[
    int, typer.Option("--split-seed", min=0, max=MAX_SPLIT_SEED, help="Seed of the split where none is published.")
]

Device = Annotated[
    str,
    typer.Option(
        help="Device of torch to train on: cpu, cuda, cuda:1, mps. Not yet tried on hardware other than a CPU."
    ),
]
TARGETS = "Targets of prediction sets and decisions"
Coverage = Annotated[
    float | None,
    typer.Option(help="Share of prediction sets that contain the true label; default 0.9.", rich_help_panel=TARGETS),
]
MaxError = Annotated[
    float | None, typer.Option(help="Highest error rate of accepted labels; default 0.05.", rich_help_panel=TARGETS)
]
Delta = Annotated[
    float | None,
    typer.Option(help="Probability that the error rate is exceeded; default 0.1.", rich_help_panel=TARGETS),
]
Threads = Annotated[int, typer.Option("--threads", min=1, max=MAX_THREADS, help="Threads to compute with.")]


LONGEST_MESSAGE = 900  # characters: names come from files, and may be of any length
KEPT_AT_THE_END = 250  # where a message says what to do


def complain(message: str) -> None:
    """An error, on stderr."""
    typer.echo(f"error: {_message(message)}", err=True)


def notice(message: str) -> None:
    """Something a user should know, on stderr."""
    typer.echo(f"note: {_message(message)}", err=True)


def print_paths(paths: Iterable[Path | str]) -> None:
    """Files that were written, one a line, on stdout."""
    for path in paths:
        typer.echo(one_line(str(path)))


def print_json(payload: dict[str, Any]) -> None:
    """One JSON object on stdout; with escapes alone where its encoding lacks a character."""
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(payload, allow_nan=False)
    typer.echo(text)


def one_line(text: str) -> str:
    """A name or a row with names in it, which must not look like two."""
    return printable(text).replace("\n", "\\n")


def _message(text: str) -> str:
    """Short, and its further lines set in: none of them looks like another message."""
    shown = printable(text).replace("\n", "\n  ")
    if len(shown) <= LONGEST_MESSAGE:
        return shown
    return f"{shown[: LONGEST_MESSAGE - KEPT_AT_THE_END]} ... {shown[-KEPT_AT_THE_END:]}"


def printable(text: str) -> str:
    # Names come from files: control codes in them must not reach the terminal.
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
