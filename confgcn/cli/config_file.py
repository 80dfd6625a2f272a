"""``--config``: the options of a command from a TOML file; what is said on the command line comes first."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from confgcn.cli.console import path_option
from confgcn.exceptions import UsageError, unknown_name

SETTINGS = "settings"  # a table of them, where a command takes --set
_PLACE = f"{__name__}.{SETTINGS}"  # of that table among what the parts of a command hand on


def _load(context: typer.Context, path: Path | None) -> Path | None:
    if path is None or context.resilient_parsing:
        return path
    from confgcn.io.toml import read_toml

    known = {_word(parameter.name): str(parameter.name) for parameter in context.command.params if parameter.name}
    values: dict[str, Any] = {}
    for key, value in read_toml(path).items():
        if key == SETTINGS and isinstance(value, dict) and "set_" in known.values():
            context.meta[_PLACE] = path, value
            continue
        name = known.get(_word(key))
        if name is None or name == "config":
            raise unknown_name(f"option in {path}", key, sorted(set(known) - {"config", "help"}))
        if name in values:
            raise UsageError(f"{path}: {_word(key)} stands there twice, as {key} and in another spelling")
        option = next(p for p in context.command.params if p.name == name)
        values[name] = _fitting(path, key, value, option)
        _try(path, key, values[name], option, context)
    context.default_map = {**(context.default_map or {}), **values}
    return path


def settings_in_file(context: typer.Context) -> tuple[Path | None, dict[str, Any]]:
    """The file of ``--config`` and its table of settings, which is empty where there is none."""
    found: tuple[Path | None, dict[str, Any]] = context.meta.get(_PLACE, (None, {}))
    return found


def _try(path: Path, key: str, value: Any, option: Any, context: typer.Context) -> None:
    """Would the command take it? Asked here, where the file is known, and also of what the command line outdoes."""
    try:
        option.process_value(context, value)
    except (typer.BadParameter, UsageError) as error:
        raise UsageError(f"{path}: {key} = {value!r}: {error}") from None


def _fitting(path: Path, key: str, value: Any, option: Any) -> Any:
    """The value as the option takes it: a single one for a list, and no truth value for a number."""
    if isinstance(value, dict):
        raise UsageError(f"{path}: {key} is a table; expected a value")
    if option.multiple:
        return value if isinstance(value, list) else [value]
    is_flag = bool(getattr(option, "is_flag", False))
    if isinstance(value, bool) != is_flag:
        raise UsageError(f"{path}: {key} = {value!r}: expected {'true or false' if is_flag else 'no truth value'}")
    if isinstance(value, list):
        raise UsageError(f"{path}: {key} is a list; expected one value")
    return value


ConfigFile = Annotated[
    Path | None,
    path_option(
        "--config",
        callback=_load,
        is_eager=True,
        help="TOML file of options and a table of settings; what is said here wins.",
    ),
]


def _word(name: str | None) -> str:
    """An option as it is written in a file: with underscores or hyphens, without those of Python's."""
    return (name or "").strip("_").replace("_", "-").removesuffix("-column").replace("as-json", "json")
