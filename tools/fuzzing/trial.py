"""One damaged file given to one reader."""

from __future__ import annotations

import resource
import shutil
import time
import traceback
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from confgcn.exceptions import ConfGCNError
from fuzzing.canaries import CANARY, canaries
from fuzzing.detectors import TooLongError, alarmed, message_fault, watched
from fuzzing.mutations import mutated, packed_like
from fuzzing.reader import Reader

MOST_BYTES = 2**30  # of memory of a process, its libraries included
SEALED_SHARE = 0.8  # of the cases of a reader with checksums

Stamp = tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a case; ``fault`` is empty where it was read or refused as expected."""

    case: int
    is_canary: bool = False
    read: bool = False
    fault: str = ""
    detail: str = ""
    seconds: float = 0.0
    peak_bytes: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        return asdict(self)


@dataclass(frozen=True)
class Case:
    """The file that a reader is given; ``is_sealed`` where checksums are made to fit it."""

    name: str
    content: bytes
    is_sealed: bool
    is_canary: bool


def case_of(reader: Reader, seed: int, number: int) -> Case:
    """Always the same for the same numbers. Every second one is a canary, until each was in each slot."""
    random = Random(f"{seed} {reader.name} {number}")  # noqa: S311
    is_sealed = reader.seal is not None and random.random() < SEALED_SHARE
    names, birds = list(reader.seeds), list(canaries().values())
    turn, is_odd = divmod(number, 2)
    if not is_odd and turn < len(names) * len(birds):
        name = names[turn // len(birds)]
        return Case(name, packed_like(reader.seeds[name], birds[turn % len(birds)]), is_sealed, is_canary=True)
    name = names[number % len(names)]
    others = [content for other, content in reader.seeds.items() if other != name] or [*reader.beside.values()][:3]
    return Case(name, mutated(reader.seeds[name], random, others), is_sealed, is_canary=False)


class Trial:
    """The folder of a reader, in which one file is replaced again and again."""

    def __init__(self, reader: Reader, seed: int, folder: Path) -> None:
        self.reader, self.seed, self.folder = reader, seed, folder
        self.here = Path.cwd()
        self._valid = {name: content for name, content in reader.beside.items() if name not in reader.seeds}
        for name, content in self._valid.items():
            self._write(folder / name, content)
        self._pristine = self._stamps()

    def run(self, number: int) -> Outcome:
        """Damage the file, read it, and check the outcome."""
        case = case_of(self.reader, self.seed, number)
        slot = self.folder / case.name
        self._write(slot, case.content)
        if case.is_sealed and self.reader.seal:
            self.reader.seal(slot)
        placed = self._stamps()
        began = time.process_time()
        fault, detail, read = self._read(case.name)
        seconds = time.process_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        fault, detail = self._left_behind(placed) or self._taken(peak, fault) or (fault, detail)
        self._restore()
        return Outcome(number, case.is_canary, read, fault, detail, seconds, peak)

    def _left_behind(self, placed: dict[str, Stamp]) -> tuple[str, str] | None:
        """The worst first: code was executed, or files were written."""
        if (self.here / CANARY).exists():
            return "canary", "code in the file was executed"
        changed = [path for path in self._changed(placed) if path not in self.reader.may_write]
        changed += [str(path) for path in self.here.iterdir()]
        return ("file written", ", ".join(changed)) if changed else None

    def _taken(self, peak: int, fault: str) -> tuple[str, str] | None:
        return ("memory", f"{peak:,} bytes") if not fault and peak > MOST_BYTES else None

    def _read(self, name: str) -> tuple[str, str, bool]:
        """A fault with its detail, and whether a value came back."""
        with warnings.catch_warnings(record=True) as warned, alarmed(), watched(self.reader.may_write) as deeds:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                self.reader.read(self.folder)
                fault, detail, read = "", "", True
            except ConfGCNError as error:
                fault, detail = message_fault(error, name, self.folder)
                read = False
            except TooLongError:
                fault, detail, read = "hang", traceback.format_exc(), False
            except OSError as error:
                is_named = error.filename is not None
                fault, detail, read = ("", "", False) if is_named else ("exception", traceback.format_exc(), False)
            except BaseException:
                fault, detail, read = "exception", traceback.format_exc(), False
        if deeds:
            return "deed", "; ".join(deeds[:3]), read
        if not fault and warned:
            return "warning", str(warned[0]), read
        return fault, detail, read

    def _restore(self) -> None:
        for name in self._changed(self._pristine):
            path = self.folder / name
            if name in self._valid:
                self._write(path, self._valid[name])
                self._pristine[name] = _stamp(path)
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _changed(self, before: dict[str, Stamp]) -> list[str]:
        after = self._stamps()
        return [name for name in {**before, **after} if before.get(name) != after.get(name)]

    def _stamps(self) -> dict[str, Stamp]:
        return {str(path.relative_to(self.folder)): _stamp(path) for path in self.folder.rglob("*")}

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _stamp(path: Path) -> Stamp:
    found = path.lstat()
    return (0, 0) if path.is_dir() else (found.st_size, found.st_mtime_ns)
