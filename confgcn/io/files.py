"""Files that are whole or not there: atomic writes, sealed JSON, tensors with a checksum."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from torch import Tensor

from confgcn.exceptions import CorruptFileError, ResourceError, UnsafeFileError, brief
from confgcn.io.safetensors_blocks import Block, safetensors_blocks

SCHEMA = 1  # of every JSON file written here; raised when an old reader could misread a new file
SEAL = "sha256"
OTHER_VERSION = "use the version that wrote it (environment.json names it), or train again"
_PICKLE, _ZIP = re.compile(rb"\x80[\x02-\x05]|c[\w.]+\n\w+\n"), b"PK\x03\x04"  # of protocols 2 to 5, and of 0
_TEMPORARY = re.compile(r"(.+?)(\.\d+)?\.tmp")


def write_atomic(path: Path, content: bytes) -> None:
    """Write beside ``path`` and rename: after a crash there is the old file or the new one, never a part."""
    write_together({path: content})


def write_blocks(path: Path, blocks: Iterable[Block]) -> str:
    """The same for what is too large to be held at once: one block after the other; returns the digest of all."""
    hashed = hashlib.sha256()
    _write_all({path: _hashing(blocks, hashed)})
    return hashed.hexdigest()


def write_together(contents: Mapping[Path, bytes]) -> None:
    """The same for files of which one is worth nothing without the others: none is renamed before all are written."""
    _write_all({path: (content,) for path, content in contents.items()})


def _write_all(contents: Mapping[Path, Iterable[Block]]) -> None:
    try:
        for path, blocks in contents.items():
            with suppress(OSError):
                for file in left_overs(path):
                    file.unlink(missing_ok=True)
            _write_to_disk(temporary(path), blocks)
        for path in contents:
            _check_replaceable(path)
        for path in contents:
            temporary(path).replace(path)
    except OSError as error:
        raise ResourceError(f"could not write {path.absolute()}: {error.strerror or error}") from None
    finally:
        for path in contents:
            with suppress(OSError):
                temporary(path).unlink()  # where it still is: after an error, or a signal that stopped all at once


def temporary(path: Path) -> Path:
    """Where this process writes what is to become ``path``: a place of its own, if two write the same at once."""
    return path.with_name(f"{path.name}.{os.getpid()}.tmp")


def became(name: str) -> str:
    """What a file of this name, left over by a process that was killed, was to become; of any other the name itself."""
    found = _TEMPORARY.fullmatch(name)
    return found[1] if found else name


def without_following(path: str, flags: int) -> int:
    """Open a file of ours to write, but not through a link: what that leads to is not ours to change."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def file_digest(path: Path) -> str:
    """The SHA-256 of a file, which is not read at once."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def to_json(payload: Any) -> bytes:
    """JSON for people and programs: indented, the same bytes for the same content, never NaN."""
    return (json.dumps(payload, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    if path.exists() and not path.is_file():  # a pipe could be waited for, a device read, for ever
        raise CorruptFileError(f"{path}: corrupt, it is no file")
    written = path.read_bytes()
    try:
        content = json.loads(written.decode(), parse_constant=_refuse_constant)
        if b"\\u" in written:
            to_json(content)  # an escape may stand for half a character, which no text is made of
    except (ValueError, RecursionError) as error:
        refuse_pickle(path, written)
        raise CorruptFileError(f"{path}: corrupt, not readable as JSON ({error})") from None
    if not isinstance(content, dict):
        raise CorruptFileError(f"{path}: corrupt, expected a JSON object")
    return content


def write_sealed(path: Path, payload: dict[str, Any]) -> None:
    """JSON that carries its schema and a checksum over itself."""
    content = {"schema": SCHEMA, **payload}
    write_atomic(path, to_json({**content, SEAL: digest(to_json(content))}))


def read_sealed(path: Path) -> dict[str, Any]:
    """Read what :func:`write_sealed` wrote, or say what is wrong with it."""
    content = read_json(path)
    if SEAL not in content:
        raise CorruptFileError(f"{path}: corrupt, it carries no checksum")
    if content.get("schema") != SCHEMA:
        found = brief(repr(content.get("schema")))
        raise CorruptFileError(f"{path}: schema {found}, this version of confgcn reads {SCHEMA}; {OTHER_VERSION}")
    if not _seal_matches(content.pop(SEAL), content):
        raise CorruptFileError(f"{path}: corrupt, its checksum does not match")
    del content["schema"]
    return content


def write_tensors(stem: Path, tensors: dict[str, Tensor], record: dict[str, Any]) -> None:
    """``<stem>.safetensors``, then ``<stem>.json`` with the record and the checksum of the tensors."""
    _require_memory(sum(value.nbytes for value in tensors.values() if not value.is_contiguous()))
    found = write_blocks(stem.with_suffix(".safetensors"), safetensors_blocks(tensors))
    write_sealed(stem.with_suffix(".json"), {**record, "tensors_sha256": found})


def read_tensors(stem: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write_tensors` wrote; nothing in the file is executed."""
    record = read_sealed(stem.with_suffix(".json"))
    path = stem.with_suffix(".safetensors")
    if not path.is_file():
        raise CorruptFileError(f"{path}: missing, though {stem.name}.json is there")
    content = path.read_bytes()
    if digest(content) != record.pop("tensors_sha256", None):
        refuse_pickle(path, content)
        raise CorruptFileError(f"{path}: corrupt, its checksum does not match")
    try:
        return load_tensors(content), record
    except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
        refuse_pickle(path, content)
        raise CorruptFileError(f"{path}: corrupt ({brief(error)})") from None


def refuse_pickle(path: Path, content: bytes) -> None:
    """Of a file that is not what it should be: one that only executing code could read was put there by somebody."""
    is_pickle = _PICKLE.match(content) is not None and content[8:9] != b"{"  # which safetensors have there
    if is_pickle or (content.startswith(_ZIP) and b"data.pkl" in content):  # as torch.save writes it
        raise UnsafeFileError(f"{path}: is a pickle, which no file of a run is; it was not read: remove it")


def left_overs(path: Path) -> list[Path]:
    """What processes that were killed have written of ``path``."""
    found = {file: _TEMPORARY.fullmatch(file.name) for file in path.parent.iterdir()}
    mine = {file: parts[2] for file, parts in found.items() if parts and parts[1] == path.name and parts[2]}
    return [file for file, process in mine.items() if not _is_running(int(process[1:]))]


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's, or no process's number at all
        return True
    return True


def _hashing(blocks: Iterable[Block], hashed: Any) -> Iterator[Block]:
    for block in blocks:
        hashed.update(block)
        yield block


def _write_to_disk(path: Path, blocks: Iterable[Block]) -> None:
    with open(path, "wb", opener=without_following) as stream:
        for block in blocks:
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())


def _check_replaceable(path: Path) -> None:
    """Renaming would put a file in the place of a link or of a device, /dev/null among them."""
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise OSError("what is there is no file, but a folder, a link or a device")


def _require_memory(size: int) -> None:
    """Raise what can be caught, and before anything is written."""
    try:
        mmap.mmap(-1, max(1, size)).close()  # asked for and not touched
    except OSError:
        raise MemoryError(f"{size} bytes to save the weights") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _seal_matches(seal: Any, content: dict[str, Any]) -> bool:
    try:
        return bool(seal == digest(to_json(content)))
    except (ValueError, RecursionError):  # text or numbers that were never written by us
        return False
