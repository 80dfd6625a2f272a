"""``confgcn methods``: the methods, their papers and what each uses."""

from __future__ import annotations

from dataclasses import asdict

import typer

from confgcn.cli.console import AsJson, print_json
from confgcn.models.registry import METHODS


def methods(as_json: AsJson = False) -> None:
    """List the methods: what each does, its paper, and what it uses.

    For example: confgcn methods
    """
    if as_json:
        print_json({name: asdict(entry) for name, entry in METHODS.items()})
        return
    width = max(map(len, METHODS)) + 2
    for name, entry in METHODS.items():
        typer.echo(f"{name:<{width}}{entry.summary}\n{'':<{width}}{' + '.join(entry.uses)}; {entry.paper}")
