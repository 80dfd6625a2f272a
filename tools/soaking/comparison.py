"""Compare two folders: all files must be equal except for durations."""

from __future__ import annotations

import re
from pathlib import Path

SECONDS = re.compile(rb'(?<="seconds": )[0-9.e-]+')
FOLLOWS = re.compile(rb"(?m)^(?:[0-9a-f]{64}  metrics\.json|# .*)\n")  # checksums of what holds the seconds


def differences(one: Path, other: Path) -> list[str]:
    """The files, by their place in the folder, that are missing in one of them or differ."""
    here, there = timeless_contents(one), timeless_contents(other)
    return sorted(name for name in {*here, *there} if here.get(name) != there.get(name))


def timeless_contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder without durations; a folder in it counts as an empty file."""
    return {
        str(path.relative_to(folder)): timeless(path) if path.is_file() else b"" for path in sorted(folder.rglob("*"))
    }


def timeless(file: Path) -> bytes:
    """The content of a file, without durations."""
    content = file.read_bytes()
    if file.name == "metrics.json":
        return SECONDS.sub(b"", content)
    return FOLLOWS.sub(b"", content) if file.name == "SHA256SUMS" else content
