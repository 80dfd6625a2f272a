"""What is quoted about faults: rows that hold, kills, mutilated files, lines that tests run, mutants they notice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from recorded import FOLDER

from reproduction.rendering import Table

SEVERITIES = {"A": ("must", "all hold"), "B": ("should", "all hold, or a reason")}


def blocks() -> dict[str, str]:
    """Tables from recorded results, by name."""
    measured = [*rows_of_the_list(), files(), soak(), *lines(), *mutants()]
    return {
        "reliability": Table("", ("", "asked", "measured", "command", "date"), measured).markdown(),
        "reliability in short": Table("", ("", "measured"), [[row[0], row[2]] for row in measured]).markdown(),
        "survivors": survivors(),
    }


def rows_of_the_list() -> list[list[str]]:
    """How many rows hold, and how many of the kills."""
    found = _recorded("faults.json")
    shown = [
        [f"rows that {verb} hold ({severity})", asked, _holding(found["rows"].values(), severity)]
        for severity, (verb, asked) in SEVERITIES.items()
    ]
    kills = found["kills"]
    whole = f"{kills['passed']} of {sum(kills.values())}"
    shown.append(["runs killed with SIGKILL", "30 of 30 whole, and resumed to the same bytes", whole])
    return [[*row, "`make faults`", found["date"]] for row in shown]


def _holding(rows: Iterable[dict[str, Any]], severity: str) -> str:
    asked = [row for row in rows if row["severity"] == severity]
    tried = [row for row in asked if row["passed"] or row["failed"]]
    skipped = sum(row["applies"] and row not in tried for row in asked)
    others = {"do not apply": sum(not row["applies"] for row in asked), "could not be tried here": skipped}
    rest = "".join(f"; {count} {why}" for why, count in others.items() if count)
    return f"{sum(not row['failed'] for row in tried)} of {len(tried)} hold{rest}"


def files() -> list[str]:
    """Mutilated files over all readers."""
    found = _recorded("fuzz.json")
    readers = found["readers"].values()
    slowest, peak = max(row["slowest_seconds"] for row in readers), max(row["peak_mb"] for row in readers)
    measured = (
        f"{found['cases']:,} over {len(readers)} readers: {found['faults']} faults; slowest {slowest:.1f} s, "
        f"peak {peak:,.0f} MB"
    )
    asked = "20,000: no crash, no hang over 10 s, no code executed, below 1 GB"
    return ["mutilated files", asked, measured, "`make fuzz`", found["date"]]


def soak() -> list[str]:
    """Rounds of trainings that were disturbed."""
    rounds = [json.loads(line) for line in (FOLDER / "soak.jsonl").read_text().splitlines()]
    signals = sum((Counter(found["kills"]) for found in rounds), Counter[str]())
    listed = ", ".join(f"{count} {name}" for name, count in sorted(signals.items()))
    equal = sum(found["equal"] for found in rounds)
    minutes = sum(found["seconds"] for found in rounds) / 60
    measured = f"{equal} of {len(rounds)} rounds equal in {minutes:.0f} minutes ({listed})"
    asked = "ten minutes of kills and resumes end like undisturbed runs"
    return ["soak", asked, measured, "`make soak`", rounds[-1]["date"][:10]]


def lines() -> list[list[str]]:
    """Lines of the package that the tests run, once that was measured."""
    if not (FOLDER / "coverage.json").is_file():
        return []
    found = _recorded("coverage.json")
    measured = f"{found['percent']:.1f} % of {found['statements']:,}"
    return [["lines that the tests run", "at least 95 %", measured, "`make coverage`", found["date"]]]


def mutants() -> list[list[str]]:
    """Mutants that the tests notice, by sample."""
    found = _recorded("mutation.json")
    shown = []
    for seed, sample in found["seeds"].items():
        title = f"mutants killed, of {sample['count']} of {found['candidates']:,} (seed {seed})"
        interval = f"{100 * sample['low']:.1f} to {100 * sample['high']:.1f}"
        measured = f"{100 * sample['rate']:.1f} % ({interval}); {sample['equivalent']} survivors change nothing"
        shown.append([title, "at least 85 %", measured, f"`python tools/mutation.py --seed {seed}`", sample["date"]])
    return shown


def survivors() -> str:
    """Every mutant that the tests did not notice."""
    rows = [
        [f"`{found['file']}:{found['line']}`", _code(found["before"]), _code(found["after"]), found["equivalent"] or ""]
        for sample in _recorded("mutation.json")["seeds"].values()
        for found in sample["survivors"]
    ]
    unique = sorted({tuple(row) for row in rows})
    return Table("", ("where", "before", "after", "why it makes no difference"), unique).markdown()


def _code(text: str) -> str:
    return f"`{text.strip()}`" if text.strip() else "(nothing)"


def _recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return found
