"""The output of the command that the README shows."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

NAMES = ("demo",)


def blocks() -> dict[str, str]:
    """The transcript, by the name of its block."""
    return {"demo": demo_transcript()}


def demo_transcript() -> str:
    """The output of `confgcn train demo`, without its last line, which names time and place."""
    command = [sys.executable, "-m", "confgcn", "train", "demo", "--out", "run"]
    with tempfile.TemporaryDirectory() as folder:
        shown = subprocess.run(
            command, cwd=folder, env={**os.environ, "COLUMNS": "80"}, capture_output=True, text=True, check=True
        ).stdout
    return "```\n$ confgcn train demo\n" + "\n".join(shown.splitlines()[:-1]) + "\n```\n"
