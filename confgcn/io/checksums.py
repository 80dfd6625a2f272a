"""SHA256SUMS of a finished run: what every file held when the run ended, as ``sha256sum --check`` reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from confgcn.exceptions import CorruptFileError
from confgcn.io.files import digest, file_digest, refuse_pickle, write_atomic

SUMS = "SHA256SUMS"
RECORDED_FIRST = ("config.json", "environment.json")  # what a resumed run is compared with
_SEAL = "# sha256 of the lines above: "  # the command takes it for a comment
_LINE = re.compile(r"([0-9a-f]{64})  ([^/\\\n]+)")


def write_checksums(folder: Path, files: Iterable[Path], *, still_to_come: Mapping[str, bytes]) -> None:
    """Of the ``files`` that are there, and of those ``still_to_come``, by name."""
    known = {file.name: file_digest(file) for file in files if file.is_file()}
    known |= {name: digest(content) for name, content in still_to_come.items()}
    lines = "".join(f"{known[name]}  {name}\n" for name in sorted(known))
    write_atomic(folder / SUMS, f"{lines}{_SEAL}{digest(lines.encode())}\n".encode())


def damaged_files(folder: Path) -> dict[str, str]:
    """The files of a finished run that are not what they were, each with what is wrong with it."""
    try:
        known = _read(folder / SUMS)
    except CorruptFileError as error:
        return {SUMS: str(error)}
    found = {name: _fault(folder / name, expected) for name, expected in known.items()}
    return {name: fault for name, fault in found.items() if fault is not None}


def verify(folder: Path) -> None:
    """Refuse a finished run of which a file was altered, by its name."""
    for name, fault in damaged_files(folder).items():
        if (folder / name).is_file():
            refuse_pickle(folder / name, (folder / name).read_bytes())
        how = "--overwrite: what was begun is not known any more" if name in RECORDED_FIRST else "--resume"
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
    lines, _, seal = path.read_bytes().partition(_SEAL.encode())
    if seal.decode(errors="replace") != f"{digest(lines)}\n":
        raise CorruptFileError(f"{path}: corrupt, its own checksum does not match")
    entries = [_LINE.fullmatch(line) for line in lines.decode(errors="replace").splitlines()]
    if not all(entries):
        raise CorruptFileError(f"{path}: corrupt, these are not checksums of files beside it")
    return {entry[2]: entry[1] for entry in entries if entry}
