"""Readers of settings: the TOML files of options, settings and ranges, and the database of a search."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import typer

from confgcn import RunRequest
from confgcn.cli.main import app
from confgcn.data.formats.registry import read_graph
from confgcn.exceptions import UsageError
from confgcn.io.toml import read_toml
from confgcn.runs.graph_input import InMemoryGraph
from confgcn.runs.settings import joined_settings
from confgcn.runs.tune import read_ranges, search
from fuzzing import seeds
from fuzzing.reader import Reader

STUDY = frozenset({"study.db", "study.db-journal"})


def settings_readers(graph: Path) -> Iterator[Reader]:
    """One for each option that takes such a file."""
    given = InMemoryGraph(read_graph(graph).build())
    request = RunRequest(given)
    files = seeds.settings_files()
    tables = {f"graph/{file.name}": file.read_bytes() for file in sorted(graph.iterdir())}

    def settings(folder: Path) -> object:
        file = folder / "settings.toml"
        overrides = joined_settings(request.method, request.preset, [(file, read_toml(file))])
        return RunRequest(given, overrides=overrides).settings()

    def space(folder: Path) -> object:
        return read_ranges(request, folder / "space.toml")

    def study(folder: Path) -> object:
        space = folder / "space.toml"
        return search(request, space=space, storage=folder / "study.db", trials=1, notify=lambda _: None)

    yield Reader("settings/config", _inspect_by_config, files["config"], tables)
    yield Reader("settings/settings", settings, files["settings"], {})
    yield Reader("settings/space", space, files["space"], {})
    yield Reader("settings/study", study, {"study.db": seeds.study(request)}, files["space"], 0.1, may_write=STUDY)


def _inspect_by_config(folder: Path) -> object:
    """The command itself, as options are its own."""
    command = typer.main.get_command(app)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return command.main(["inspect", "--config", str(folder / "config.toml")], standalone_mode=False)
        except Exception as error:
            if getattr(error, "exit_code", None) != UsageError.exit_code or not hasattr(error, "format_message"):
                raise
            raise UsageError(error.format_message()) from None  # the message of typer
