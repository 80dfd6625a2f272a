"""How much code a reader has to read: files on a user's path, calls in one training epoch, lines and modules.

Two commands are run under Python's own profiler hook, and what is counted is code of this project alone:

* the path: two CSV files to predictions.csv and report.html (``confgcn train``, ``confgcn report``);
* an epoch: the calls of a training of eleven epochs less those of ten, on a graph of twelve nodes.

For example: python tools/code_walks.py, or with --root OTHER_CHECKOUT to measure another version.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

EPOCHS = 10
NODES = 12


def main() -> None:
    """Print the four measurements as JSON."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="checkout to measure")
    arguments.add_argument("--traced", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    root = given.root.resolve()
    if given.traced:
        print(json.dumps(calls_of(given.traced, root)))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(root, Path(folder)), indent=2))


def measure(root: Path, folder: Path) -> dict[str, Any]:
    """All measurements of one checkout."""
    graph = ["--edges", str(folder / "edges.csv"), "--nodes", str(folder / "nodes.csv")]
    write_tables(folder)
    run = str(folder / "run")
    path = traced(root, ["train", *graph, "--out", run]) + traced(root, ["report", run])
    epochs = [
        traced(root, ["train", *graph, *_epochs(count), "--out", str(folder / f"run-{count}")])
        for count in (EPOCHS, EPOCHS + 1)
    ]
    epoch = epochs[1] - epochs[0]
    modules = [file for name in ("confgcn", "reproduction") for file in (root / name).rglob("*.py")]
    return {
        "path": {"files": len(files_of(path)), "functions": len(path)},
        "epoch": {"calls": epoch.total(), "functions": len(epoch), "files": len(files_of(epoch))},
        "code": {"lines": sum(len(file.read_text().splitlines()) for file in modules), "modules": len(modules)},
    }


def _epochs(count: int) -> list[str]:
    return [word for setting in (f"epochs={count}", "stop=never") for word in ("--set", setting)]


def write_tables(folder: Path) -> None:
    """A ring of twelve nodes with one chord, two classes, a label for every node, and a split."""
    splits = ["train"] * 4 + ["validation"] * 4 + ["test"] * 4
    rows = [f"n{i},{'ab'[i % 2]},{splits[i]},{i % 2},{i % 3}" for i in range(NODES)]
    edges = [f"n{i},n{(i + 1) % NODES}" for i in range(NODES)] + ["n0,n6"]
    (folder / "nodes.csv").write_text("\n".join(["id,label,split,height,width", *rows]) + "\n")
    (folder / "edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")


def traced(root: Path, command: list[str]) -> Counter[str]:
    """The calls of one command, by function, in a process of its own."""
    words = [sys.executable, __file__, "--root", str(root), "--traced", *command]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return Counter(json.loads(done.stdout.splitlines()[-1]))


def calls_of(command: list[str], root: Path) -> Counter[str]:
    """Run a command of the program and count calls of its functions; module bodies and class bodies are left out."""
    from confgcn.cli.main import main as confgcn

    counts: Counter[str] = Counter()
    inside = str(root) + os.sep

    def count(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_function = code.co_flags & inspect.CO_OPTIMIZED  # bodies of modules and classes are not
        if event == "call" and is_function and code.co_filename.startswith(inside):
            counts[f"{code.co_filename}:{code.co_firstlineno}:{code.co_qualname}"] += 1

    sys.argv = ["confgcn", *command]
    sys.setprofile(count)
    try:
        confgcn()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
    return counts


def files_of(counts: Counter[str]) -> set[str]:
    """The files that functions are in."""
    return {name.split(":")[0] for name in counts}


if __name__ == "__main__":
    main()
