"""One damaged file given to one reader, and what must not come of it."""

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
from fuzzing.canaries import CANARY
from fuzzing.detectors import TooLongError, alarmed, message_fault, watched
from fuzzing.mutations import mutated
from fuzzing.reader import Reader

MOST_BYTES = 2**30  # of memory, over what the process held before
SEALED_SHARE = 0.8  # of the cases of a reader with checksums

Stamp = tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """What came of a case; ``fault`` is empty where it was read or refused as it should be."""

    case: int
    read: bool = False
    fault: str = ""
    detail: str = ""
    seconds: float = 0.0
    peak_bytes: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        return asdict(self)


def case_content(reader: Reader, seed: int, case: int) -> tuple[str, bytes, bool]:
    """The file of a case, by name: always the same bytes; and whether checksums are made to fit them."""
    random = Random(f"{seed} {reader.name} {case}")  # noqa: S311
    names = list(reader.seeds)
    name = names[case % len(names)]
    others = [content for other, content in reader.seeds.items() if other != name] or [*reader.beside.values()][:3]
    sealed = reader.seal is not None and random.random() < SEALED_SHARE
    return name, mutated(reader.seeds[name], random, others), sealed


class Trial:
    """The folder of a reader, in which one file is replaced again and again."""

    def __init__(self, reader: Reader, seed: int, folder: Path) -> None:
        self.reader, self.seed, self.folder = reader, seed, folder
        self.here = Path.cwd()
        self._sound = {name: content for name, content in reader.beside.items() if name not in reader.seeds}
        for name, content in self._sound.items():
            self._write(folder / name, content)
        self._pristine = self._stamps()
        self._before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def run(self, case: int) -> Outcome:
        """Damage, read, and look at what came of it."""
        name, content, sealed = case_content(self.reader, self.seed, case)
        slot = self.folder / name
        self._write(slot, content)
        if sealed and self.reader.seal:
            self.reader.seal(slot)
        placed = self._stamps()
        began = time.process_time()
        fault, detail, read = self._read(name)
        seconds = time.process_time() - began
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._before) * 1024
        changed = [path for path in self._changed(placed) if path not in self.reader.may_write]
        if not fault and peak > MOST_BYTES:
            fault, detail = "memory", f"{peak:,} bytes"
        if changed:
            fault, detail = "file written", ", ".join(changed)
        if (self.here / CANARY).exists():
            fault, detail = "canary", "code in the file was executed"
        self._restore()
        return Outcome(case, read, fault, detail, seconds, peak)

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
            if name in self._sound:
                self._write(path, self._sound[name])
                self._pristine[name] = _stamp(path)
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def _changed(self, before: dict[str, Stamp]) -> list[str]:
        after = self._stamps()
        return [name for name in {**before, **after} if before.get(name) != after.get(name)]

    def _stamps(self) -> dict[str, Stamp]:
        return {
            str(path.relative_to(self.folder)): _stamp(path) for path in self.folder.rglob("*") if not path.is_dir()
        }

    def _write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _stamp(path: Path) -> Stamp:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
