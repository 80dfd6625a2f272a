"""Try every reader of users' files on damaged ones; exit 1 on a fault.

    python tools/fuzz.py                                     20,000 files
    python tools/fuzz.py --seed 7 --minutes 30               as many as there is time for
    python tools/fuzz.py --reader graph/graph.npz --case 12  one again, with all that is known of it

Allowed is a value, or an error of exit code 2, 3, 4 or 6 whose message is one line that names the file. A fault is
anything else: another error, a warning, a crash, more than 10 s or 1 GB, a program started, a file written.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from fuzzing.engine import Tally, as_record, batches_of, run
from fuzzing.reader import Reader
from fuzzing.readers import all_readers
from fuzzing.trial import Outcome, case_of

CASES = 20_000
KINDS = ("crash", "exception", "hang", "memory", "canary")  # that are always counted
SECONDS_BETWEEN = 2.0


class Watch:
    """Counts outcomes, prints the progress, and keeps the file of every fault."""

    def __init__(self, seed: int, keep: Path) -> None:
        self.seed, self.keep = seed, keep
        self.tallies: dict[str, Tally] = {}
        self.began = self.printed = time.monotonic()

    def __call__(self, reader: Reader, outcome: Outcome) -> None:
        self.tallies.setdefault(reader.name, Tally()).add(outcome)
        if outcome.fault:
            self._keep(reader, outcome)
        if time.monotonic() - self.printed > SECONDS_BETWEEN:
            self.printed = time.monotonic()
            rate = self.cases / (self.printed - self.began)
            print(f"{self.cases:,} files, {rate:.0f} a second, {self.faults} faults", file=sys.stderr)

    @property
    def cases(self) -> int:
        return sum(tally.cases for tally in self.tallies.values())

    @property
    def faults(self) -> int:
        return sum(len(tally.faults) for tally in self.tallies.values())

    def _keep(self, reader: Reader, outcome: Outcome) -> None:
        case = case_of(reader, self.seed, outcome.case)
        folder = self.keep / f"{reader.name.replace('/', '-')}-{self.seed}-{outcome.case}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / Path(case.name).name).write_bytes(case.content)
        command = f"python tools/fuzz.py --seed {self.seed} --reader {reader.name} --case {outcome.case}"
        (folder / "fault.txt").write_text(f"{command}\n{outcome.fault}: {outcome.detail}\n", errors="replace")
        print(
            f"FAULT {reader.name} {outcome.case}: {outcome.fault}: {outcome.detail[-300:]}\n  {command}",
            file=sys.stderr,
        )


def main() -> None:
    """Run the trials and print a table."""
    given = _options().parse_args()
    with tempfile.TemporaryDirectory() as folder:
        readers = all_readers(Path(folder))
        watch = Watch(given.seed, given.keep)
        run(_batches(readers, given), seed=given.seed, watch=watch)
    record = _record(watch)
    print(_table(record["readers"]))
    if given.out:
        given.out.write_text(json.dumps(record, indent=2) + "\n")
    print(f"{watch.cases:,} files in {record['seconds']:.0f} s, {watch.faults} faults")
    sys.exit(1 if watch.faults else 0)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, help=f"files in all, by default {CASES:,}")
    parser.add_argument("--minutes", type=float, help="stop after that time")
    parser.add_argument("--seed", type=int, default=0, help="other files")
    parser.add_argument("--reader", help="this one alone, or all whose names begin so")
    parser.add_argument("--case", type=int, help="this file of the reader alone")
    parser.add_argument("--out", type=Path, help="write the table as JSON")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-faults"), help="folder for the files of faults")
    return parser


def _batches(readers: dict[str, Reader], given: argparse.Namespace) -> Any:
    wanted = {name: reader for name, reader in readers.items() if name.startswith(given.reader or "")}
    if not wanted:
        sys.exit(f"no reader {given.reader!r}: choose from {', '.join(readers)}")
    if given.case is not None:
        return [(readers[given.reader], [given.case])]
    cases = given.cases if given.cases or given.minutes else CASES
    return _until(batches_of(wanted, cases), given.minutes)


def _until(batches: Any, minutes: float | None) -> Any:
    ends = time.monotonic() + 60 * (minutes or float("inf"))
    for batch in batches:
        if time.monotonic() > ends:
            return
        yield batch


def _record(watch: Watch) -> dict[str, Any]:
    """The numbers for docs/reliability.md, with the faults of each kind."""
    readers = {name: as_record(tally) for name, tally in sorted(watch.tallies.items())}
    kinds = Counter(outcome.fault for tally in watch.tallies.values() for outcome in tally.faults)
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seed": watch.seed,
        "cases": watch.cases,
        "canaries": sum(row["canaries"] for row in readers.values()),
        "faults": watch.faults,
        "faults_by_kind": {kind: kinds[kind] for kind in (*KINDS, *sorted(kinds.keys() - set(KINDS)))},
        "slowest_seconds": max((row["slowest_seconds"] for row in readers.values()), default=0.0),
        "peak_mb": max((row["peak_mb"] for row in readers.values()), default=0.0),
        "seconds": round(time.monotonic() - watch.began, 1),
        "readers": readers,
    }


def _table(rows: dict[str, dict[str, Any]]) -> str:
    columns = list(next(iter(rows.values()), {}))
    width = max((len(name) for name in rows), default=0)
    lines = [" ".join([f"{'reader':<{width}}", *(f"{column:>15}" for column in columns)])]
    lines += [" ".join([f"{name:<{width}}", *(f"{row[c]:>15,}" for c in columns)]) for name, row in rows.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
