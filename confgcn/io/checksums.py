"""SHA-256 of files, and SHA256SUMS of a finished run in the format of ``sha256sum --check``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from confgcn.exceptions import CorruptFileError, UnsafeFileError
from confgcn.io.atomic_files import write_atomic

SUMS = "SHA256SUMS"
RECORDED_FIRST = ("config.json", "environment.json")  # a resumed run is compared with these
_OWN_CHECKSUM = "# sha256 of the lines above: "  # a comment to sha256sum
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\\\n]+)")
_PICKLE, _ZIP = re.compile(rb"\x80[\x02-\x05]|c[\w.]+\n\w+\n"), b"PK\x03\x04"  # of protocols 2 to 5, and of 0


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, which is read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def refuse_pickle(path: Path, content: bytes) -> None:
    """Raise if a file that should be ours is a pickle: reading it would execute the code in it."""
    is_pickle = _PICKLE.match(content) is not None and content[8:9] != b"{"  # where safetensors have a brace
    if is_pickle or (content.startswith(_ZIP) and b"data.pkl" in content):  # the format of torch.save
        raise UnsafeFileError(f"{path}: is a pickle, which no file of a run is; it was not read: remove it")


def write_checksums(folder: Path, files: Iterable[Path], *, not_yet_written: Mapping[str, bytes]) -> None:
    """Write SHA256SUMS of the ``files`` that exist, and of the contents ``not_yet_written``, by name."""
    known = {file.name: file_digest(file) for file in files if file.is_file()}
    known |= {name: digest(content) for name, content in not_yet_written.items()}
    lines = "".join(f"{known[name]}  {name}\n" for name in sorted(known))
    write_atomic(folder / SUMS, f"{lines}{_OWN_CHECKSUM}{digest(lines.encode())}\n".encode())


def damaged_files(folder: Path) -> dict[str, str]:
    """The files of a finished run that have changed since, each with what is wrong with it."""
    try:
        known = _read(folder / SUMS)
    except CorruptFileError as error:
        return {SUMS: str(error)}
    faults = {name: _fault(folder / name, expected) for name, expected in known.items()}
    return {name: fault for name, fault in faults.items() if fault is not None}


def verify(folder: Path) -> None:
    """Raise for the first file of a finished run that has changed since."""
    for name, fault in damaged_files(folder).items():
        if (folder / name).is_file():
            refuse_pickle(folder / name, (folder / name).read_bytes())
        how = "--overwrite: its settings are no longer known" if name in RECORDED_FIRST else "--resume"
        raise CorruptFileError(f"{fault}; the command that made the run makes it again with {how}")


def _fault(file: Path, expected: str) -> str | None:
    if not file.is_file():
        return f"{file}: missing, though {SUMS} lists it"
    if file_digest(file) != expected:
        return f"{file}: corrupt, its checksum is not the one in {SUMS}"
    return None


def _read(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise CorruptFileError(f"{path}: missing, though the run is finished")
    lines, _, own = path.read_bytes().partition(_OWN_CHECKSUM.encode())
    if own.decode(errors="replace") != f"{digest(lines)}\n":
        raise CorruptFileError(f"{path}: corrupt, its own checksum does not match")
    entries = [_LINE.fullmatch(line) for line in lines.decode(errors="replace").splitlines()]
    if not all(entries):
        raise CorruptFileError(f"{path}: corrupt, these are not checksums of files beside it")
    return {entry[2]: entry[1] for entry in entries if entry}
