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


def test_a_training_of_this_checkout_can_be_traced(tool: ModuleType, tmp_path: Path) -> None:
    tool.write_tables(tmp_path)
    words = ["--edges", str(tmp_path / "edges.csv"), "--nodes", str(tmp_path / "nodes.csv")]
    counts = tool.traced(ROOT, ["train", *words, *tool._epochs(2), "--out", str(tmp_path / "run")])
    assert (tmp_path / "run" / "predictions.csv").is_file()
    files = {str(Path(file).relative_to(ROOT)) for file in tool.files_of(counts)}
    assert {"confgcn/cli/train.py", "confgcn/runs/train.py", "confgcn/training/loop.py"} <= files


def test_an_epoch_is_the_difference_of_two_trainings(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def traced(_: Path, command: list[str]) -> Counter[str]:
        epochs = {"epochs=10": 10, "epochs=11": 11}
        steps = next((epochs[word] for word in command if word in epochs), 200)
        return Counter({"/a.py:1:read": 1, "/a.py:5:step": steps, "/b.py:1:loss": 2 * steps})

    monkeypatch.setattr(tool, "traced", traced)
    found = tool.measure(ROOT, tmp_path)
    assert found["epoch"] == {"calls": 3, "functions": 2, "files": 2}
    assert found["path"] == {"files": 2, "functions": 3}
    modules = [path for name in ("confgcn", "reproduction") for path in (ROOT / name).rglob("*.py")]
    assert found["code"]["modules"] == len(modules)


def test_the_files_of_functions(tool: ModuleType) -> None:
    assert tool.files_of(Counter({"/a.py:1:f": 2, "/a.py:5:g": 1, "/b.py:1:h": 1})) == {"/a.py", "/b.py"}
