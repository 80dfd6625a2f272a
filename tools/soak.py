"""Train, kill, resume, report, evaluate and predict, round after round; exit 1 if a result differs.

    python tools/soak.py                                       ten minutes
    python tools/soak.py --minutes 60 --seed 7                 longer, with other plans
    python tools/soak.py --out benchmarks/results/soak.jsonl   and keep a line of JSON for every round

In every round commands are carried out twice: once undisturbed, once by processes that get SIGKILL, SIGINT, SIGTERM or
SIGHUP at random moments and are begun again. All files must be the same in the end, but for the seconds that it took.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from soaking.plans import Plan, draw
from soaking.rounds import Outcome, play

MOST_SHOWN = 1_000  # characters of what is wrong with a round; its record has all


def main(words: Sequence[str] | None = None) -> int:
    """Rounds until the time is over; 1 if one of them was not as it should be."""
    given = _options().parse_args(words)
    records: list[dict[str, Any]] = []
    ends = time.monotonic() + 60 * given.minutes
    while time.monotonic() < ends and len(records) < given.rounds:
        records.append(_round(len(records), given))
        _keep(records[-1], given.out)
        _show(records, seconds_left=ends - time.monotonic())
    different = sum(not record["equal"] for record in records)
    print(f"{len(records)} rounds, {_total(records)} signals, {different} rounds with a difference")
    return int(different > 0 or not records)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long; the last round is finished")
    parser.add_argument("--rounds", type=int, default=sys.maxsize, help="how many at most")
    parser.add_argument("--seed", type=int, default=0, help="other plans")
    parser.add_argument("--out", type=Path, help="file to which a line of JSON is added for every round")
    parser.add_argument("--keep", type=Path, default=Path("soak-faults"), help="folder for what went wrong")
    return parser


def _round(number: int, given: argparse.Namespace) -> dict[str, Any]:
    random = Random(f"{given.seed}/{number}")  # noqa: S311
    plan, began = draw(random), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        outcome = play(plan, Path(folder), random)
        if not outcome.equal:
            given.keep.mkdir(parents=True, exist_ok=True)
            shutil.copytree(
                folder, tempfile.mkdtemp(prefix=f"{given.seed}-{number}-", dir=given.keep), dirs_exist_ok=True
            )
    return _record(number, given.seed, plan, outcome, time.monotonic() - began)


def _record(number: int, seed: int, plan: Plan, outcome: Outcome, seconds: float) -> dict[str, Any]:
    return {
        "date": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "round": number,
        "seed": seed,
        "commands": [" ".join(command) for command in plan.commands],
        "seconds_between_saves": plan.seconds_between_saves,
        "kills": {name: count for name, count in sorted(outcome.signals.items()) if count},
        "resumes": outcome.resumes,
        "equal": outcome.equal,
        "differences": outcome.differences,
        "faults": outcome.faults,
        "seconds": round(seconds, 1),
    }


def _keep(record: dict[str, Any], out: Path | None) -> None:
    if out is not None:
        with out.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record) + "\n")


def _show(records: list[dict[str, Any]], *, seconds_left: float) -> None:
    last = records[-1]
    state = "equal" if last["equal"] else f"DIFFERENT: {[*last['faults'], *last['differences']]}"[:MOST_SHOWN]
    kills = ", ".join(f"{count} {name}" for name, count in last["kills"].items()) or "no signal in time"
    print(
        f"round {last['round']}: {last['commands'][0]}: {kills}: {state} "
        f"({last['seconds']:.0f} s; {_total(records)} signals so far, {max(seconds_left, 0) / 60:.1f} minutes left)",
        file=sys.stderr,
        flush=True,
    )


def _total(records: list[dict[str, Any]]) -> int:
    return sum(sum(Counter(record["kills"]).values()) for record in records)


if __name__ == "__main__":
    sys.exit(main())
