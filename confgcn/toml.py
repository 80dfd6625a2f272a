"""Read TOML files: parsed as data, never as code."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from confgcn.exceptions import UsageError


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not a TOML file ({error})") from None
    return tables


def parse_value(text: str) -> Any:
    """A value as TOML spells it; text that is no TOML value is taken as a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text
