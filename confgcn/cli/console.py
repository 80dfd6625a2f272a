"""What the commands share in speaking to people (stderr) and to programs (stdout)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from confgcn.limits import MAX_SPLIT_SEED, MAX_THREADS
from confgcn.methods import METHODS, check_method


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
    Path | None, typer.Option("--data-dir", help="Folder with the benchmark files; before $CONFGCN_DATA.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
SplitSeed = Annotated[
    int, typer.Option("--split-seed", min=0, max=MAX_SPLIT_SEED, help="Seed of the split where none is published.")
]

Threads = Annotated[int, typer.Option("--threads", min=1, max=MAX_THREADS, help="Threads to compute with.")]


def complain(message: str) -> None:
    """An error, on stderr."""
    typer.echo(f"error: {printable(message)}", err=True)


def notice(message: str) -> None:
    """Something a user should know, on stderr."""
    typer.echo(f"note: {printable(message)}", err=True)


def print_json(payload: dict[str, Any]) -> None:
    """One JSON object on stdout."""
    typer.echo(json.dumps(payload, ensure_ascii=False, allow_nan=False))


def one_line(text: str) -> str:
    """A name or a row with names in it, which must not look like two."""
    return printable(text).replace("\n", "\\n")


def printable(text: str) -> str:
    # Names come from files: control codes in them must not reach the terminal.
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
