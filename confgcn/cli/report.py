"""``confgcn report``: write the HTML report of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from confgcn.cli.console import AsJson, DataDir, RunPath, notice, path_option, print_json, print_paths


def report(
    run: RunPath,
    out: Annotated[
        Path | None, path_option("--out", help="File to write; by default report.html in the run directory.")
    ] = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML report of a run: its data, its quality, and every node with its neighbours.

    It opens in any browser and needs no network. For example: confgcn report runs/mine
    """
    from confgcn.runs.report import write_report

    file, notices = write_report(run, out=out, data_dir=data_dir)
    for text in notices:
        notice(text)
    if as_json:
        print_json({"report": str(file), "bytes": file.stat().st_size, "notices": notices})
    else:
        print_paths([file])
