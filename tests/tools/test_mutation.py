"""The counts of mutants; ``make mutation`` makes and tries the mutants themselves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

PLACE = {"file": "confgcn/ops/edges.py", "operator": "core/NumberReplacer"}


@pytest.fixture
def tool(script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    module = script("tools/mutation.py")
    for name in ("OUTCOMES", "REPORT", "EQUIVALENTS"):
        monkeypatch.setattr(module, name, tmp_path / name)
    return module


def row(number: int, outcome: str, **more: str) -> dict[str, object]:
    return {**PLACE, "occurrence": number, "line": number, "before": "a", "after": "b", "outcome": outcome, **more}


@pytest.mark.parametrize(
    ("changed", "is_another"),
    [("def f(a: str) -> int:\n  return a", False), ("def f(a: int) -> str:\n  return -a", True)],
)
def test_a_changed_annotation_is_no_mutant(tool: ModuleType, changed: str, is_another: bool) -> None:
    assert (tool.what_runs(changed) != tool.what_runs("def f(a: int) -> str:\n  return a")) is is_another


@pytest.mark.parametrize("source", ["def f(:", "x = 1 is 1"])
def test_code_that_python_refuses_or_warns_of_is_no_mutant(tool: ModuleType, source: str) -> None:
    assert tool.what_runs(source) is None


def test_the_difference_is_the_lines_that_changed(tool: ModuleType) -> None:
    found = tool.difference("a\n  b = 1\nc", "a\n  b = 2\nc")
    assert found == {"line": 2, "before": "b = 1", "after": "b = 2"}
    with pytest.raises(ValueError, match="equal"):
        tool.difference("a", "a")


def test_the_interval_is_that_of_wilson(tool: ModuleType) -> None:
    assert tool.wilson(8, 10) == pytest.approx((0.490162, 0.943318), abs=1e-6)


def test_equivalent_mutants_are_marked_and_count_as_survivors(tool: ModuleType) -> None:
    tool.EQUIVALENTS.write_text(
        f'[[equivalent]]\nfile = "{PLACE["file"]}"\nbefore = "a"\nafter = ["b"]\nreason = "no difference"\n'
    )
    rows = [row(1, "killed"), row(2, "hangs"), row(3, "survived"), {**row(4, "survived"), "after": "c"}]
    found = tool.summary(rows)
    assert (found["count"], found["killed"], found["hanging"], found["equivalent"]) == (4, 2, 1, 1)
    assert [survivor["equivalent"] for survivor in found["survivors"]] == ["no difference", None]
    assert found["packages"]["ops"]["rate"] == 0.5
    assert found["packages"]["models/confgcn"] == {"count": 0, "killed": 0}


def test_a_killed_mutant_is_known_until_its_module_changes_and_a_survivor_until_its_tests_do(tool: ModuleType) -> None:
    hashes = tool._hashes(tool.Mutant(PLACE["file"], "", 0), tool.ROOT)
    other = {**hashes, "tests": "0"}
    rows = [row(1, "killed", **other), row(2, "survived", **other), row(3, "survived", **hashes)]
    rows.append(row(4, "killed", **{**hashes, "source": "0"}))
    tool.OUTCOMES.write_text("".join(json.dumps(line) + "\n" for line in rows))
    assert sorted(mutant.occurrence for mutant in tool.known_outcomes()) == [1, 3]
