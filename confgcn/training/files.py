"""Files that are whole or not there: atomic writes, sealed JSON, tensors with a checksum."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Tensor

from confgcn.exceptions import CorruptFileError, ResourceError, brief

TEMPORARY_SUFFIX = ".tmp"
SCHEMA = 1  # of every JSON file written here; raised when an old reader could misread a new file
SEAL = "sha256"
COPIES_IN_SAVING = 3  # the bytes of each tensor, safetensors' own, and the content it hands back


def write_atomic(path: Path, content: bytes) -> None:
    """Write beside ``path`` and rename: after a crash there is the old file or the new one, never a part."""
    temporary = path.with_name(path.name + TEMPORARY_SUFFIX)
    try:
        with open(temporary, "wb", opener=without_following) as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise ResourceError(f"could not write {path.absolute()}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            temporary.unlink()  # where it still is: after an error, or a signal that stopped all at once


def without_following(path: str, flags: int) -> int:
    """Open a file of ours to write, but not through a link: what that leads to is not ours to change."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def to_json(payload: Any) -> bytes:
    """JSON for people and programs: indented, the same bytes for the same content, never NaN."""
    return (json.dumps(payload, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        content = json.loads(path.read_bytes(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
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
        raise CorruptFileError(f"{path}: schema {found}, this version of confgcn reads {SCHEMA}")
    if not _seal_matches(content.pop(SEAL), content):
        raise CorruptFileError(f"{path}: corrupt, its checksum does not match")
    del content["schema"]
    return content


def write_tensors(stem: Path, tensors: dict[str, Tensor], record: dict[str, Any]) -> None:
    """``<stem>.safetensors``, then ``<stem>.json`` with the record and the checksum of the tensors."""
    _require_memory(COPIES_IN_SAVING * sum(value.nbytes for value in tensors.values()))
    content = save_tensors({name: value.contiguous() for name, value in tensors.items()})
    write_atomic(stem.with_suffix(".safetensors"), content)
    write_sealed(stem.with_suffix(".json"), {**record, "tensors_sha256": digest(content)})


def read_tensors(stem: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write_tensors` wrote; nothing in the file is executed."""
    record = read_sealed(stem.with_suffix(".json"))
    path = stem.with_suffix(".safetensors")
    if not path.is_file():
        raise CorruptFileError(f"{path}: missing, though {stem.name}.json is there")
    content = path.read_bytes()
    if digest(content) != record.pop("tensors_sha256", None):
        raise CorruptFileError(f"{path}: corrupt, its checksum does not match")
    try:
        return load_tensors(content), record
    except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
        raise CorruptFileError(f"{path}: corrupt ({brief(error)})") from None


def _require_memory(size: int) -> None:
    """Raise what can be caught: safetensors ends the process where it gets no memory."""
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
