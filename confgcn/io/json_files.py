"""JSON files: plain ones, ones that hold a checksum of themselves, and records that must fit a pydantic model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from confgcn.exceptions import CorruptFileError, brief
from confgcn.io.atomic_files import write_atomic
from confgcn.io.checksums import digest, refuse_pickle

SCHEMA = 1  # of every checksummed file; raised when an old reader could misread a new file
CHECKSUM_KEY = "sha256"
OTHER_VERSION = "use the version that wrote it (environment.json names it), or train again"

Model = TypeVar("Model", bound=BaseModel)


def to_json(payload: Any) -> bytes:
    """JSON for people and programs: indented, the same bytes for the same content, never NaN."""
    return (json.dumps(payload, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file."""
    if path.exists() and not path.is_file():  # reading a pipe or a device might never end
        raise CorruptFileError(f"{path}: corrupt, not a regular file")
    written = path.read_bytes()
    try:
        content = json.loads(written.decode(), parse_constant=_refuse_constant)
        if b"\\u" in written:
            to_json(content)  # an escape may be half of a surrogate pair, which cannot be encoded
    except (ValueError, RecursionError) as error:
        refuse_pickle(path, written)
        raise CorruptFileError(f"{path}: corrupt, not readable as JSON ({error})") from None
    if not isinstance(content, dict):
        raise CorruptFileError(f"{path}: corrupt, expected a JSON object")
    return content


def write_checksummed_json(path: Path, payload: dict[str, Any]) -> None:
    """Write a JSON object together with its schema and the SHA-256 of both."""
    content = {"schema": SCHEMA, **payload}
    write_atomic(path, to_json({**content, CHECKSUM_KEY: digest(to_json(content))}))


def read_checksummed_json(path: Path) -> dict[str, Any]:
    """Read what :func:`write_checksummed_json` wrote."""
    content = read_json(path)
    if CHECKSUM_KEY not in content:
        raise CorruptFileError(f"{path}: corrupt, it has no checksum")
    if content.get("schema") != SCHEMA:
        schema = brief(repr(content.get("schema")))
        raise CorruptFileError(f"{path}: schema {schema}, this version of confgcn reads {SCHEMA}; {OTHER_VERSION}")
    if not _checksum_matches(content.pop(CHECKSUM_KEY), content):
        raise CorruptFileError(f"{path}: corrupt, its checksum does not match")
    del content["schema"]
    return content


def checked_record(model: type[Model], record: dict[str, Any], message: str) -> Model:
    """The record as its model; the error is the message with the first entry that does not fit."""
    try:
        return model.model_validate_json(json.dumps(record))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CorruptFileError(f"{message} ({brief(where)}: {brief(first['msg'].lower())})") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _checksum_matches(checksum: Any, content: dict[str, Any]) -> bool:
    try:
        return bool(checksum == digest(to_json(content)))
    except (ValueError, RecursionError):  # text or numbers that to_json never writes
        return False
