"""What is quoted about graphs of one's own: new nodes, mapped graphs, how many labels it takes, transcripts."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
LABELLED = ("citeseer", "cora", "pubmed")
COLUMNS = ("node", "label", "probability", "set", "accepted", "top_neighbour")  # of predictions.csv, in the tutorial
TRANSCRIPTS = ("tutorial inspect", "tutorial train", "tutorial table", "tutorial explain")


def blocks() -> dict[str, str]:
    """Tables from recorded results, by name."""
    return {
        "new nodes": new_nodes_table(),
        "mapped": mapped_table(),
        **{f"labels {name}": labels_table(name) for name in LABELLED},
    }


def new_nodes_table() -> str:
    """Accuracy of new nodes against having trained with them."""
    found = json.loads((RESULTS / "new_nodes.json").read_text())
    graphs = [name for name in found if isinstance(found[name], dict)]
    rows = {
        "new nodes": lambda g: f"{g['nodes'] * found['share']:,.0f} of {g['nodes']:,}",
        "accuracy, added after training, %": lambda g: _percent(g["extended"], g["extended_std"]),
        "accuracy, there at training, %": lambda g: _percent(g["trained_with"], g["trained_with_std"]),
        "difference, points": lambda g: f"{_signed(g['difference'])} [{_signed(g['low'])}, {_signed(g['high'])}]",
        "mean probability of the new, %": lambda g: f"{100 * g['confidence']:.1f}",
        "milliseconds a node": lambda g: f"{g['milliseconds_per_node']:.1f}",
    }
    lines = [_line(["", *graphs]), _line(["---", *["---:"] * len(graphs)])]
    lines += [_line([title, *(show(found[name]) for name in graphs)]) for title, show in rows.items()]
    return "\n".join([*lines, "", f"{found['draws']} draws, {found['date']}, `python benchmarks/new_nodes.py`.", ""])


def mapped_table() -> str:
    """Memory of a graph that is mapped, beyond what the program takes on a small one."""
    found = json.loads((RESULTS / "mapped.json").read_text())
    smallest, *sizes = [size for size in found if size.isdigit()]

    def beyond(size: str, command: str) -> str:
        if command not in found[size]:
            return "refused" if command == "inspect_in_memory" else "not measured"
        return _megabytes(found[size][command]["peak_anonymous"] - found[smallest][command]["peak_anonymous"])

    rows = {
        "nodes": lambda size: f"{int(size):,}",
        "the arrays, MB": lambda size: _megabytes(found[size]["array_bytes"]),
        "`convert --mapped`, MB": lambda size: beyond(size, "convert"),
        "`inspect`, mapped, MB": lambda size: beyond(size, "inspect"),
        "samples of 1,024 nodes, MB": lambda size: beyond(size, "sample"),
        "`partition --by hash`, MB": lambda size: beyond(size, "partition"),
        "`inspect`, read into memory, MB": lambda size: beyond(size, "inspect_in_memory"),
        "`convert --mapped`, seconds": lambda size: f"{found[size]['convert']['seconds']:.0f}",
        "`open_store`, seconds": lambda size: f"{found[size]['open']['seconds']:.2f}",
    }
    cells = [[title, *map(show, sizes)] for title, show in rows.items()]
    first, *others = [_line(row) for row in cells if {*row[1:]} != {"not measured"}]
    lines = [first, _line(["---", *["---:"] * len(sizes)]), *others]
    return "\n".join([*lines, "", f"{found['date']}, `python benchmarks/mapped.py`.", ""])


def labels_table(name: str) -> str:
    """Accuracy and confidences by the number of labels."""
    found = json.loads((RESULTS / f"labels-{name}.json").read_text())
    counts = [key for key in found if key.isdigit()]
    error = f"{100 * found['max_error']:.0f} %"
    rows = {
        "accuracy of the rest, %": lambda c: _percent(c["accuracy"]["mean"], c["accuracy"]["std"]),
        "accuracy of labels held out in turn, %": lambda c: _share(c["held_out_accuracy"]["mean"]),
        "mean probability, calibrated, %": lambda c: _share(c["confidence"]["mean"]),
        "calibration error, %": lambda c: _share(c["ece"]["mean"]),
        "90 % sets hold the label, %": lambda c: _share(c["coverage"]["mean"]),
        "labels in a set": lambda c: f"{c['set_size']['mean']:.1f}",
        f"accepted at an error of {error}, %": lambda c: _share(c["accepted"]["mean"]),
        "error of the accepted, %": lambda c: _share(c["error_of_accepted"]["mean"]),
    }
    lines = [_line([f"{name}: labels a class", *counts]), _line(["---", *["---:"] * len(counts)])]
    lines += [_line([title, *(show(found[count]) for count in counts)]) for title, show in rows.items()]
    return "\n".join([*lines, "", f"{found['draws']} draws, {found['date']}, `python benchmarks/labels.py`.", ""])


def transcripts() -> dict[str, str]:
    """What the tutorial's commands print."""
    with tempfile.TemporaryDirectory() as scratch:
        _shown(scratch, "convert", "demo", "--out", "papers")
        inspected = _shown(scratch, "inspect", "papers").split("\n\n")[0]
        trained = "\n".join(_shown(scratch, "train", "papers", "--out", "run").splitlines()[:-1])
        table = (Path(scratch) / "run" / "predictions.csv").read_text(encoding="utf-8")
        explained = "\n".join(_shown(scratch, "explain", "run", "35").splitlines()[:9])
    texts = (
        f"$ confgcn inspect papers\n{inspected}",
        f"$ confgcn train papers --out run\n{trained}",
        f"$ cut -d, ... run/predictions.csv\n{_few_rows(table)}",
        f"$ confgcn explain run 35\n{explained}\n...",
    )
    return {name: f"```\n{text}\n```\n" for name, text in zip(TRANSCRIPTS, texts, strict=True)}


def _shown(folder: str, *words: str) -> str:
    options: dict[str, Any] = {"capture_output": True, "text": True, "check": True, "cwd": folder}
    return subprocess.run(
        [sys.executable, "-m", "confgcn", *words], env={**os.environ, "COLUMNS": "100"}, **options
    ).stdout


def _few_rows(table: str) -> str:
    rows = list(csv.DictReader(io.StringIO(table)))
    asked = [row for row in rows if row["accepted"]]
    chosen = [max(asked, key=_probability), min(asked, key=_probability), asked[len(asked) // 2]]
    return "\n".join([",".join(COLUMNS), *(",".join(row[name] for name in COLUMNS) for row in chosen)])


def _probability(row: dict[str, str]) -> float:
    return float(row["probability"])


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f}"


def _percent(mean: float, deviation: float) -> str:
    return f"{100 * mean:.1f} ± {100 * deviation:.1f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _signed(value: float) -> str:
    return f"{100 * value:+.2f}".replace("-", "−")


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
