"""``--config``: the options of a command from a TOML file; the command line takes precedence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from confgcn.cli.console import path_option
from confgcn.exceptions import UsageError, unknown_name

SETTINGS = "settings"  # table of the file, for commands that have --set
_KEY = f"{__name__}.{SETTINGS}"  # key of that table in the context of a command


def _load(context: typer.Context, path: Path | None) -> Path | None:
    if path is None or context.resilient_parsing:
        return path
    from confgcn.io.toml import read_toml

    known = {
        _option_name(parameter.name): str(parameter.name) for parameter in context.command.params if parameter.name
    }
    values: dict[str, Any] = {}
    for key, value in read_toml(path).items():
        if key == SETTINGS and isinstance(value, dict) and "set_" in known.values():
            context.meta[_KEY] = path, value
            continue
        name = known.get(_option_name(key))
        if name is None or name == "config":
            raise unknown_name(f"option in {path}", key, sorted(set(known) - {"config", "help"}))
        if name in values:
            raise UsageError(f"{path}: {_option_name(key)} is given twice, as {key} and in another spelling")
        option = next(p for p in context.command.params if p.name == name)
        values[name] = _converted(path, key, value, option)
        _check(path, key, values[name], option, context)
    context.default_map = {**(context.default_map or {}), **values}
    return path


def settings_in_file(context: typer.Context) -> tuple[Path | None, dict[str, Any]]:
    """The file of ``--config`` and its table of settings, empty if it has none."""
    recorded: tuple[Path | None, dict[str, Any]] = context.meta.get(_KEY, (None, {}))
    return recorded


def _check(path: Path, key: str, value: Any, option: Any, context: typer.Context) -> None:
    """Refuse a value that the option does not accept, even if the command line replaces it."""
    try:
        option.process_value(context, value)
    except (typer.BadParameter, UsageError) as error:
        raise UsageError(f"{path}: {key} = {value!r}: {error}") from None


def _converted(path: Path, key: str, value: Any, option: Any) -> Any:
    """The value in the form that the option expects: a list where it can be repeated, a boolean only for a flag."""
    if isinstance(value, dict):
        raise UsageError(f"{path}: {key} is a table; expected a value")
    if option.multiple:
        return value if isinstance(value, list) else [value]
    is_flag = bool(getattr(option, "is_flag", False))
    if isinstance(value, bool) != is_flag:
        expected = "true or false" if is_flag else "neither true nor false"
        raise UsageError(f"{path}: {key} = {value!r}: expected {expected}")
    if isinstance(value, list):
        raise UsageError(f"{path}: {key} is a list; expected one value")
    return value


ConfigFile = Annotated[
    Path | None,
    path_option(
        "--config",
        callback=_load,
        is_eager=True,
        help="TOML file of options and a table of settings; options of the command line take precedence.",
    ),
]


def _option_name(name: str | None) -> str:
    """The name of an option in a file: with hyphens for underscores, without Python's trailing one."""
    return (name or "").strip("_").replace("_", "-").removesuffix("-column").replace("as-json", "json")
