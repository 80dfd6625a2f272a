from __future__ import annotations

from collections.abc import Callable
from types import ModuleType


def test_what_is_kept_of_a_report(script: Callable[[str], ModuleType]) -> None:
    tool = script("tools/line_coverage.py")
    report = {
        "totals": {"num_statements": 200, "missing_lines": 13, "percent_covered": 93.456},
        "files": {
            "a.py": {"summary": {"percent_covered": 99.9}},
            "b.py": {"summary": {"percent_covered": 89.96}},
            "c.py": {"summary": {"percent_covered": 90.0}},
        },
    }
    kept = tool.summary(report)
    assert (kept["statements"], kept["missed"]) == (200, 13)
    assert kept["percent"] == 93.46
    assert kept["least"] == {"b.py": 90.0}
