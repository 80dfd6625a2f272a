"""Read TOML files: parsed as data, never as code."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from confgcn.exceptions import UsageError

MOST_BYTES = 2**20  # a device file may be endless


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    with path.open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path}: more than {MOST_BYTES:,} bytes, which is too large for settings")
    try:
        tables: dict[str, Any] = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # a number of too many digits is a plain ValueError
        raise UsageError(f"{path}: not a TOML file ({error})") from None
    return tables


def parse_value(text: str) -> Any:
    """The value of a TOML expression; any other text is a string."""
    try:
        tables = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return tables["value"] if len(tables) == 1 else text
