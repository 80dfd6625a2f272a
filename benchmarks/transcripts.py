"""The output of the quickstart that the README shows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("quickstart",)
QUICKSTART = Path(__file__).parents[1] / "examples" / "quickstart.py"


def blocks() -> dict[str, str]:
    """The output, by the name of its block."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, QUICKSTART]
        shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return {"quickstart": f"```\n{shown}```\n"}
