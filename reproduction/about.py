"""When and on what the runs were done."""

from __future__ import annotations

from typing import Any

from reproduction.jobs import Job
from reproduction.results import Results
from reproduction.scope import Scope


def jobs(scope: Scope) -> list[Job]:
    """None of its own."""
    return []


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Of all runs that are there."""
    records = results.records.values()
    dates = sorted({record.date for record in records})
    return {
        "runs": len(records),
        "dates": [dates[0], dates[-1]] if dates else [],
        "environments": [results.meaning(key) for key in sorted({record.environment for record in records})],
    }
