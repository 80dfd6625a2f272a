"""``confgcn datasets``: the built-in data sets and the location of their files."""

from __future__ import annotations

import typer

from confgcn.cli.console import AsJson, DataDir, one_line, print_json


def datasets(data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the built-in data sets and where their files are.

    For example: confgcn datasets
    """
    from confgcn.data.datasets import DATASETS

    locations = {name: (dataset.description, dataset.where(data_dir)) for name, dataset in DATASETS.items()}
    if as_json:
        print_json({name: {"description": text, "found": where} for name, (text, where) in locations.items()})
        return
    for name, (text, where) in locations.items():
        typer.echo(f"{name:<10} {text}\n{'':<10} {one_line(where or 'not found; downloaded on first use')}")
