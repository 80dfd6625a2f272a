"""The files of recorded benchmark results, and tables of them. Imports nothing heavy."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the package reproduction is not installed

from reproduction.rendering import Table

FOLDER = Path(__file__).parent / "results"
GRAPHS = ("cora", "citeseer", "pubmed", "cora_ml")
PATHS = ("pure", "compiled")  # kernels


def result_file(name: str) -> Path:
    """The file of one benchmark."""
    return FOLDER / f"{name}.json"


def read(name: str) -> Any:
    """The recorded results of one benchmark."""
    return json.loads(result_file(name).read_text())


def write(name: str, results: Any) -> None:
    """Replace the recorded results of one benchmark."""
    result_file(name).write_text(json.dumps(results, indent=1) + "\n")


def append(name: str, row: dict[str, Any]) -> None:
    """Add one measurement with its date to a list of them, and print it."""
    rows = read(name) if result_file(name).is_file() else []
    write(name, [*rows, {"date": datetime.date.today().isoformat(), **row}])
    print(row, flush=True)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return Table("", header, rows).markdown()
