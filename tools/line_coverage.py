"""The share of the package's lines that the tests run, including those run in other processes.

    python tools/line_coverage.py [--out FILE]

Fails where a test does, or where the share is below the bound in pyproject.toml. Tests that limit the memory,
the time or the files of a process are left out, because counting lines needs all three. So the share is a lower bound.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

LEFT_OUT = ("tests/faults", "tests/tools/test_fuzz.py")
UNTIMED = "tests/cli/test_main.py::test_help_is_quick_and_does_not_import_torch"
LISTED_BELOW = 90.0  # percent: modules that are worth a look


def summary(report: dict[str, Any]) -> dict[str, Any]:
    """A summary of a report of coverage.py: the total, and the modules with the least coverage."""
    modules = {file: entry["summary"]["percent_covered"] for file, entry in report["files"].items()}
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "statements": report["totals"]["num_statements"],
        "missed": report["totals"]["missing_lines"],
        "percent": round(report["totals"]["percent_covered"], 2),
        "least": {file: round(share, 1) for file, share in sorted(modules.items()) if share < LISTED_BELOW},
    }


def main() -> int:
    """Run the tests, print and write the summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="write a summary as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        details = Path(folder) / "coverage.json"
        reports = ["--cov-report=term:skip-covered", f"--cov-report=json:{details}"]
        chosen = [*(f"--ignore={path}" for path in LEFT_OUT), f"--deselect={UNTIMED}"]
        code = pytest.main(["--numprocesses", "2", *chosen, "--cov", *reports])
        found = summary(json.loads(details.read_text()))
    print(json.dumps(found, indent=2))
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
