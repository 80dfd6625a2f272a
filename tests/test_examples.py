"""Every example runs, and the README shows the first one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = [
    pytest.param(path, id=path.stem, marks=() if path.stem == "quickstart" else pytest.mark.slow)
    for path in sorted((ROOT / "examples").glob("*.py"))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example: Path, tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, example], capture_output=True, text=True, timeout=1200, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_the_readme_shows_the_quickstart() -> None:
    code = (ROOT / "examples" / "quickstart.py").read_text().split('"""\n\n', 1)[1]
    assert f"```python\n{code}```" in (ROOT / "README.md").read_text()
