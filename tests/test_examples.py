"""Every example runs and says something."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(example: Path) -> None:
    result = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "paper" in result.stdout
