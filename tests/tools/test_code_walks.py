"""The tracer counts calls of functions of one checkout, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
def helper():
    return 1
class Unused:
    def method(self):
        return 2
def main():
    import json
    json.dumps([])
    return helper() + sum(helper() for _ in range(3))
"""


@pytest.fixture
def tool(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("tools/code_walks.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A program with the layout of this one: one module with three functions."""
    (tmp_path / "confgcn" / "cli").mkdir(parents=True)
    (tmp_path / "confgcn" / "cli" / "main.py").write_text(PROGRAM)
    return tmp_path


def test_calls_are_counted_by_function_and_only_those_of_the_checkout(tool: ModuleType, checkout: Path) -> None:
    counts = tool.traced(checkout, ["train"])
    calls = {name.rpartition(":")[2]: count for name, count in counts.items()}
    assert calls == {"main": 1, "helper": 4, "main.<locals>.<genexpr>": 4}
    assert tool.files_of(counts) == {str(checkout / "confgcn" / "cli" / "main.py")}


def test_a_command_that_fails_is_reported(tool: ModuleType, checkout: Path) -> None:
    (checkout / "confgcn" / "cli" / "main.py").write_text("def main():\n    raise ValueError('no graph')\n")
    with pytest.raises(SystemExit, match="ValueError: no graph"):
        tool.traced(checkout, ["train"])


def test_this_checkout_is_measured(tool: ModuleType, tmp_path: Path) -> None:
    found = tool.measure(ROOT, tmp_path)
    assert 0 < found["epoch"]["files"] <= found["epoch"]["functions"] <= found["epoch"]["calls"]
    assert found["epoch"]["files"] < found["path"]["files"] < found["path"]["functions"]
    modules = [path for name in ("confgcn", "reproduction") for path in (ROOT / name).rglob("*.py")]
    assert found["code"]["modules"] == len(modules)


def test_the_files_of_functions(tool: ModuleType) -> None:
    assert tool.files_of(Counter({"/a.py:1:f": 2, "/a.py:5:g": 1, "/b.py:1:h": 1})) == {"/a.py", "/b.py"}
