"""The list of faults, the tests that show them and the table in the docs agree."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def tool(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("tools/fault_table.py")


def rows_of(decorators: list[ast.expr]) -> list[str]:
    """The arguments of ``pytest.mark.fault(...)`` among some expressions, lists of marks included."""
    calls = [node for decorator in decorators for node in ast.walk(decorator) if isinstance(node, ast.Call)]
    marks = [call for call in calls if ast.unparse(call.func) == "pytest.mark.fault"]
    return [ast.literal_eval(argument) for mark in marks for argument in mark.args]


@cache
def marked() -> dict[str, set[str]]:
    """The tests of each row, as the sources have them."""
    found: dict[str, set[str]] = {}
    for file in HERE.glob("test_*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        of_all = [node.value for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.dump(node)]
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for row in rows_of([*node.decorator_list, *of_all]):
                    found.setdefault(row, set()).add(f"{file.name}::{node.name}")
    return found


def test_every_mark_names_a_row_of_the_list(tool: ModuleType) -> None:
    assert sorted(marked().keys() - tool.faults().keys()) == []


def test_every_row_that_must_or_should_hold_has_a_test_or_a_reason(tool: ModuleType) -> None:
    rows = {row: fault for row, fault in tool.faults().items() if fault["severity"] in "AB"}
    tested = marked().keys()
    assert sorted(row for row, fault in rows.items() if row not in tested and not fault.get("why_not")) == []
    assert sorted(row for row, fault in rows.items() if row in tested and "why_not" in fault) == []


def test_the_table_in_the_docs_has_the_tests_that_there_are(tool: ModuleType) -> None:
    lines = [
        line for line in tool.DOCUMENT.read_text(encoding="utf-8").splitlines() if re.match(r"\| [A-Z]\d\d ", line)
    ]
    shown = {line[2:5]: set(re.findall(r"`(test_\w+\.py::test_\w+)`", line)) for line in lines}
    assert shown == {row: marked().get(row, set()) for row in tool.faults()}, "write it again: tools/fault_table.py"


def test_a_row_of_the_table_has_the_outcomes_of_its_tests(tool: ModuleType) -> None:
    fault = {"fault": "a|b", "expected": "exit 3", "severity": "A"}
    tests = {"test_a.py::test_x": Counter(passed=2), "test_a.py::test_y": Counter(skipped=1)}
    line = tool.line("G01", fault, tests)
    assert line == ("| G01 | A | a\\|b | exit 3 | 2 passed, 1 skipped: `test_a.py::test_x`<br>`test_a.py::test_y` |")
    assert "not tested: no server" in tool.line("S14", {**fault, "why_not": "no server"}, {})


def test_failed_rows_are_counted_above_the_table(tool: ModuleType) -> None:
    text = tool.table({"G01": {"test_a.py::test_x": Counter(failed=1)}})
    assert "1 have tests, 1 of them fail" in text
    assert "G03" in text.splitlines()[0]
