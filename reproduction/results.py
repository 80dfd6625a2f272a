"""Recorded runs: a CSV file with one row per run for each kind of measurement, and what its hashes stand for."""

from __future__ import annotations

import csv
import io
import math
import os
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from confgcn.exceptions import CorruptFileError, ResourceError, brief
from confgcn.io.atomic_files import write_atomic
from confgcn.io.json_files import read_json, to_json
from confgcn.runs.saved import software
from reproduction.influence_measurements import InfluenceMeasurements
from reproduction.jobs import Kind, Variant, digest, settings_key
from reproduction.measurements import NAMES, ConfidenceMeasurements, Measured, Measurements, NamedMeasurements
from reproduction.robustness_measurements import RobustnessMeasurements, ValidationMeasurements

DIGITS = ".6g"
CPU_INFO = Path("/proc/cpuinfo")

Ending = Literal["finished", "diverged"]


@dataclass(frozen=True)
class RunRecord:
    """One row. ``run`` is the hash of settings, seed and graph; ``settings`` and ``graph`` are their own hashes."""

    run: str
    settings: str
    graph: str
    environment: str
    date: str
    dataset: str
    method: str
    preset: str
    changes: str
    seed: int
    outcome: Ending
    measured: Measured

    def row(self) -> list[str]:
        """The cells as written into the CSV file."""
        identity = [str(getattr(self, name)) for name in IDENTITY]
        return identity + [_text(value) for value in self.measured.cells()]


IDENTITY = tuple(field.name for field in fields(RunRecord) if field.name != "measured")


@dataclass(frozen=True)
class Files:
    """The files for runs of one kind: a CSV file, and a JSON file with what its hashes stand for."""

    table: str
    legend: str
    names: tuple[str, ...]
    measured: Callable[[dict[str, Any]], Measured]

    @property
    def columns(self) -> tuple[str, ...]:
        """The header of the CSV file."""
        return (*IDENTITY, *self.names)


def _named(stem: str, measured: type[NamedMeasurements]) -> Files:
    return Files(f"{stem}.csv", f"{stem}_settings.json", measured.names, measured)


FILES: dict[Kind, Files] = {
    "paper": Files("results.csv", "settings.json", NAMES, lambda cells: Measurements(**cells)),
    "confidence": _named("confidence", ConfidenceMeasurements),
    "validation": _named("robustness_validation", ValidationMeasurements),
    "robustness": _named("robustness", RobustnessMeasurements),
    "influence": _named("influence", InfluenceMeasurements),
}


class Results:
    """The finished runs of one kind in a folder. Only one process may write; others may read."""

    def __init__(self, folder: Path, kind: Kind = "paper") -> None:
        self.folder = folder
        self.files = FILES[kind]
        self.table, self.legend = folder / self.files.table, folder / self.files.legend
        self.records = {record.run: record for record in self._read()}
        if self.records and not self.legend.is_file():
            raise CorruptFileError(
                f"{self.legend}: missing, but {self.table.name} needs it; restore it or choose another --out"
            )
        self.meanings: dict[str, dict[str, Any]] = read_json(self.legend) if self.legend.is_file() else {}
        self._by_settings: dict[tuple[str, str], dict[int, RunRecord]] = {}
        for record in self.records.values():
            self._index(record)

    def file(self, name: str) -> Path:
        """The file with the numbers of a table or figure."""
        return self.folder / f"{name}.json"

    def __contains__(self, run: str) -> bool:
        return run in self.records

    def runs(self, dataset: str, variant: Variant) -> Mapping[int, RunRecord]:
        """The records of a variant on a data set, by seed."""
        return self._by_settings.get((dataset, settings_key(variant, dataset)), {})

    def meaning(self, key: str) -> dict[str, Any]:
        """What a hash in the CSV file stands for."""
        meaning = self.meanings.get(key)
        if not isinstance(meaning, dict):
            raise CorruptFileError(f"{self.legend}: corrupt, no entry for {brief(key)} of {self.table.name}")
        return meaning

    def add(self, record: RunRecord, meanings: Mapping[str, dict[str, Any]]) -> None:
        """Append a finished run; what its hashes stand for is written first."""
        if not meanings.keys() <= self.meanings.keys():
            self.meanings |= meanings
            write_atomic(self.legend, to_json(self.meanings))
        try:
            with self.table.open("a", newline="") as stream:
                header = [self.files.columns] if stream.tell() == 0 else []
                csv.writer(stream, lineterminator="\n").writerows([*header, record.row()])
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise ResourceError(f"could not write {self.table.absolute()}: {error.strerror or error}") from None
        kept = self._record(record.row(), len(self.records) + 2)  # as it will be read: rounded
        self.records[record.run] = kept
        self._index(kept)

    def drop_incomplete_row(self) -> None:
        """Remove a last line that a crash left incomplete, before more is appended."""
        if self.table.is_file() and not self.table.read_bytes().endswith(b"\n"):
            stream = io.StringIO()
            rows = [record.row() for record in self.records.values()]
            csv.writer(stream, lineterminator="\n").writerows([self.files.columns, *rows])
            write_atomic(self.table, stream.getvalue().encode() if self.records else b"")

    def _index(self, record: RunRecord) -> None:
        self._by_settings.setdefault((record.dataset, record.settings), {})[record.seed] = record

    def _read(self) -> list[RunRecord]:
        if not self.table.is_file():
            return []
        try:
            text = self.table.read_text(encoding="utf-8")
            complete = text[: text.rfind("\n") + 1]  # a crash can leave an incomplete last line
            header, *rows = csv.reader(io.StringIO(complete)) if complete else [list(self.files.columns)]
        except (UnicodeDecodeError, csv.Error) as error:
            raise CorruptFileError(f"{self.table}: corrupt, not readable as text ({brief(error)})") from None
        if tuple(header) != self.files.columns:
            raise CorruptFileError(
                f"{self.table}: its columns are not those of this version of confgcn; choose another --out"
            )
        return [self._record(row, number) for number, row in enumerate(rows, start=2)]

    def _record(self, row: list[str], line: int) -> RunRecord:
        try:
            cells: dict[str, Any] = dict(zip(self.files.columns, row, strict=True))
            measured = self.files.measured({name: _value(cells.pop(name)) for name in self.files.names})
            return RunRecord(**{**cells, "seed": int(cells["seed"])}, measured=measured)
        except ValueError as error:
            raise CorruptFileError(f"{self.table}, line {line}: not a row of results ({brief(error)})") from None


def provenance(results: Results) -> dict[str, Any]:
    """How many runs there are, the first and the last date, and the environments they were done in."""
    records = results.records.values()
    dates = sorted({record.date for record in records})
    return {
        "runs": len(records),
        "dates": [dates[0], dates[-1]] if dates else [],
        "environments": [results.meaning(key) for key in sorted({record.environment for record in records})],
    }


def environment() -> tuple[str, dict[str, Any]]:
    """Versions and hardware of this machine, preceded by their hash."""
    description = {
        **software(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": 1,
    }
    return digest(description), description


def _processor() -> str:
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def _text(value: Any) -> str:
    if value is None:
        return ""
    return " ".join(map(_text, value)) if isinstance(value, tuple) else format(value, DIGITS)


def _value(text: str) -> float | tuple[float, ...] | None:
    numbers = tuple(float(number) for number in text.split())
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"{text} is not finite")
    return None if not numbers else numbers[0] if len(numbers) == 1 else numbers
