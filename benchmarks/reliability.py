"""The results of the tools that test reliability: faults, kills, fuzzing, soak, coverage, mutants, two hosts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from recorded import FOLDER, read, table

SEVERITIES = {"A": ("must", "all hold"), "B": ("should", "all hold, or a stated reason")}


def blocks() -> dict[str, str]:
    """The tables, by the name of their place in the documents."""
    measured = [*fault_rows(), files(), soak(), *lines(), *mutants()]
    return {
        "reliability": table(("", "target", "result", "command", "date"), measured),
        "reliability in short": table(("", "result"), [[row[0], row[2]] for row in measured]),
        "survivors": survivors(),
        "two hosts": two_hosts(),
    }


def fault_rows() -> list[list[str]]:
    """The numbers of faults handled as required, and of killed runs that resumed."""
    found = read("faults")
    shown = [
        [f"faults that {verb} be handled ({severity})", target, _holding(found["rows"].values(), severity)]
        for severity, (verb, target) in SEVERITIES.items()
    ]
    kills = found["kills"]
    intact = f"{kills['passed']} of {sum(kills.values())}"
    shown.append(["runs killed by SIGKILL", "30 of 30 intact, and resumed to identical files", intact])
    return [[*row, "`make faults`", found["date"]] for row in shown]


def _holding(rows: Iterable[dict[str, Any]], severity: str) -> str:
    selected = [row for row in rows if row["severity"] == severity]
    tried = [row for row in selected if row["passed"] or row["failed"]]
    skipped = sum(row["applies"] and row not in tried for row in selected)
    others = {"do not apply": sum(not row["applies"] for row in selected), "could not be tested here": skipped}
    rest = "".join(f"; {count} {why}" for why, count in others.items() if count)
    return f"{sum(not row['failed'] for row in tried)} of {len(tried)} hold{rest}"


def files() -> list[str]:
    """Corrupted files over all readers."""
    found = read("fuzz")
    readers = found["readers"].values()
    slowest, peak = max(row["slowest_seconds"] for row in readers), max(row["peak_mb"] for row in readers)
    measured = (
        f"{found['cases']:,} over {len(readers)} readers: {found['faults']} faults; slowest {slowest:.1f} s, "
        f"peak {peak:,.0f} MB"
    )
    target = "20,000: no crash, no hang over 10 s, no code executed, below 1 GB"
    return ["corrupted files", target, measured, "`make fuzz`", found["date"]]


def soak() -> list[str]:
    """Rounds of trainings with random signals."""
    rounds = [json.loads(line) for line in (FOLDER / "soak.jsonl").read_text().splitlines()]
    signals = sum((Counter(found["kills"]) for found in rounds), Counter[str]())
    listed = ", ".join(f"{count} {name}" for name, count in sorted(signals.items()))
    equal = sum(found["equal"] for found in rounds)
    minutes = sum(found["seconds"] for found in rounds) / 60
    measured = f"{equal} of {len(rounds)} rounds identical in {minutes:.0f} minutes ({listed})"
    target = "after ten minutes of kills and resumes, results are identical to undisturbed runs"
    return ["soak test", target, measured, "`make soak`", rounds[-1]["date"][:10]]


def lines() -> list[list[str]]:
    """Line coverage of the tests, where it was measured."""
    if not (FOLDER / "coverage.json").is_file():
        return []
    found = read("coverage")
    measured = f"{found['percent']:.1f} % of {found['statements']:,}"
    return [["line coverage of the tests", "at least 95 %", measured, "`make coverage`", found["date"]]]


def mutants() -> list[list[str]]:
    """Mutants detected by the tests, by sample."""
    found = read("mutation")
    shown = []
    for seed, sample in found["seeds"].items():
        title = f"mutants killed, of {sample['count']} of {found['candidates']:,} (seed {seed})"
        interval = f"{100 * sample['low']:.1f} to {100 * sample['high']:.1f}"
        measured = f"{100 * sample['rate']:.1f} % ({interval}); {sample['equivalent']} survivors are equivalent"
        shown.append([title, "at least 85 %", measured, f"`python tools/mutation.py --seed {seed}`", sample["date"]])
    return shown


def survivors() -> str:
    """Every mutant that the tests did not detect."""
    rows = [
        [f"`{found['file']}:{found['line']}`", _code(found["before"]), _code(found["after"]), found["equivalent"] or ""]
        for sample in read("mutation")["seeds"].values()
        for found in sample["survivors"]
    ]
    unique = sorted({tuple(row) for row in rows})
    return table(("location", "before", "after", "reason why the result is the same"), unique)


def two_hosts() -> str:
    """The results of tools/two_hosts.py."""
    found = read("two_hosts")
    same = "the same bytes" if found["same_as_one_host"] else "OTHER bytes"
    lines = [f"- 40 epochs on the demo graph: {same} as two workers on one host, {found['seconds']:.0f} s."]
    same = "the same bytes" if found["same_when_restarted"] else "OTHER bytes"
    waits = " and ".join(f"{seconds:.0f} s" for seconds in found["seconds_to_go_on"])
    lines.append(
        "- `--max-restarts 2`, the worker of either host killed in turn: the next checkpoint after "
        f"{waits}, and at the end {same} as without."
    )
    for host, (seconds, lines_printed) in enumerate(
        zip(found["seconds_after_cut"], found["errors_after_cut"], strict=True)
    ):
        message = " ".join(re.sub(r"\(process \d+ on \w+\)|:\d+(?=,)", "...", text) for text in lines_printed)
        lines.append(f"- Link cut, host {host + 1}: ended after {seconds:.0f} s; `{message}`")
    return "\n".join([*lines, f"- {found['date']}."]) + "\n"


def _code(text: str) -> str:
    return f"`{text.strip()}`" if text.strip() else "(nothing)"
