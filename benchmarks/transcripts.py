"""The output of the commands that the README and the tutorial show."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COLUMNS = ("node", "label", "probability", "set", "accepted", "most_influential_neighbour")
TUTORIAL = ("tutorial inspect", "tutorial train", "tutorial table", "tutorial explain")
NAMES = ("demo", *TUTORIAL)


def blocks() -> dict[str, str]:
    """Every transcript, by the name of its place in the documents."""
    return {"demo": demo_transcript(), **tutorial_transcripts()}


def demo_transcript() -> str:
    """The output of `confgcn train demo`, without its last line, which names time and place."""
    with tempfile.TemporaryDirectory() as scratch:
        shown = _output(scratch, "train", "demo", "--out", "run", columns=80)
    return "```\n$ confgcn train demo\n" + "\n".join(shown.splitlines()[:-1]) + "\n```\n"


def tutorial_transcripts() -> dict[str, str]:
    """The output of the commands of the tutorial."""
    with tempfile.TemporaryDirectory() as scratch:
        _output(scratch, "convert", "demo", "--out", "papers")
        inspected = _output(scratch, "inspect", "papers").split("\n\n")[0]
        trained = "\n".join(_output(scratch, "train", "papers", "--out", "run").splitlines()[:-1])
        table = (Path(scratch) / "run" / "predictions.csv").read_text(encoding="utf-8")
        explained = "\n".join(_output(scratch, "explain", "run", "35").splitlines()[:9])
    texts = (
        f"$ confgcn inspect papers\n{inspected}",
        f"$ confgcn train papers --out run\n{trained}",
        f"$ cut -d, ... run/predictions.csv\n{_few_rows(table)}",
        f"$ confgcn explain run 35\n{explained}\n...",
    )
    return {name: f"```\n{text}\n```\n" for name, text in zip(TUTORIAL, texts, strict=True)}


def _output(folder: str, *words: str, columns: int = 100) -> str:
    command = [sys.executable, "-m", "confgcn", *words]
    environment = {**os.environ, "COLUMNS": str(columns)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def _few_rows(table: str) -> str:
    rows = list(csv.DictReader(io.StringIO(table)))
    decided = [row for row in rows if row["accepted"]]
    chosen = [max(decided, key=_probability), min(decided, key=_probability), decided[len(decided) // 2]]
    return "\n".join([",".join(COLUMNS), *(",".join(row[name] for name in COLUMNS) for row in chosen)])


def _probability(row: dict[str, str]) -> float:
    return float(row["probability"])
