"""Write the rows of docs/reliability.md: every one of tests/faults/faults.toml, and the outcomes of its tests.

    python tools/fault_table.py

runs the fault suite; ``tests/faults/test_the_list.py`` fails while the table does not match the tests.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
LIST = ROOT / "tests" / "faults" / "faults.toml"
DOCUMENT = ROOT / "docs" / "reliability.md"
RECORD = ROOT / "benchmarks" / "results" / "faults.json"
BEGIN, END = "<!-- rows -->", "<!-- end -->"
OUTCOMES = ("passed", "failed", "skipped")
KILLED = "P01", "test_kills.py::test_a_killed_run_is_whole_and_resumes_to_the_same_bytes"  # each case is a kill
Outcomes = dict[str, dict[str, Counter[str]]]  # row -> test -> how many of its cases passed, failed, were skipped


class Recorder:
    """A plugin of pytest that counts the outcomes of the tests of each row."""

    def __init__(self) -> None:
        self.outcomes: Outcomes = defaultdict(lambda: defaultdict(Counter))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and report.passed:
            return
        rows = next((value for key, value in report.user_properties if key == "faults"), [])
        test = report.nodeid.removeprefix("tests/faults/").split("[")[0]
        for row in rows:
            self.outcomes[row][test][report.outcome] += 1


def faults() -> dict[str, dict[str, str]]:
    """The rows of the list."""
    return tomllib.loads(LIST.read_text(encoding="utf-8"))


def cell(text: str) -> str:
    """Text as it stands in a table."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def line(row: str, fault: dict[str, str], tests: dict[str, Counter[str]]) -> str:
    """One row of the table."""
    counts = sum(tests.values(), Counter[str]())
    found = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
    where = "<br>".join(f"`{test}`" for test in sorted(tests))
    differs = f" (differs from the list: {cell(fault['differs'])})" if "differs" in fault else ""
    shown = f"{found}: {where}" if tests else f"not tested: {fault.get('why_not', 'no test yet')}"
    return f"| {row} | {fault['severity']} | {cell(fault['fault'])} | {cell(fault['expected'])}{differs} | {shown} |"


def table(outcomes: Outcomes) -> str:
    """All rows, with a line of totals above."""
    rows = faults()
    untested = [row for row, fault in rows.items() if row not in outcomes and fault["severity"] in "AB"]
    failed = [row for row in outcomes if any(counts["failed"] for counts in outcomes[row].values())]
    summary = f"{len(rows)} rows; {len(rows.keys() & outcomes.keys())} have tests, {len(failed)} of them fail."
    rest = f" Rows A and B without a test: {', '.join(untested) or 'none'}."
    head = "| row | severity | fault | what must happen | what the tests found |\n|---|---|---|---|---|"
    return "\n".join(
        [summary + rest, "", head, *(line(row, rows[row], outcomes.get(row, {})) for row in rows)],
    )


def written(document: str, content: str) -> str:
    """The document with its table replaced."""
    before, _, rest = document.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{content}\n{END}{after}"


def record(outcomes: Outcomes) -> dict[str, Any]:
    """How many cases of each row, and how many of the kills, passed, failed and were skipped."""
    counts = {row: sum(outcomes.get(row, {}).values(), Counter[str]()) for row in faults()}
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "kills": {name: outcomes[KILLED[0]][KILLED[1]][name] for name in OUTCOMES},
        "rows": {
            row: {"severity": fault["severity"], "applies": "why_not" not in fault}
            | {name: counts[row][name] for name in OUTCOMES}
            for row, fault in faults().items()
        },
    }


def main() -> int:
    """Run the suite and write the table; 1 if a test failed."""
    recorder = Recorder()
    code: Any = pytest.main(["--numprocesses", "2", str(LIST.parent)], plugins=[recorder])
    if not recorder.outcomes:
        return 1  # nothing ran, and nothing is known
    RECORD.write_text(json.dumps(record(recorder.outcomes), indent=1) + "\n", encoding="utf-8")
    DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8"), table(recorder.outcomes)), encoding="utf-8")
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main())
