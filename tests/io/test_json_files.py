"""JSON that is read is an object of text and numbers that fits its model, or the error names the entry."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from confgcn.exceptions import CorruptFileError
from confgcn.io.json_files import checked_record, read_json, to_json


def test_numbers_that_are_not_finite_are_never_written() -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json({"x": float("nan")})


@pytest.mark.parametrize("content", [b'{"a": "\\ud800"}', b'{"a": "\xed\xa0\x80"}', '{"a": 1}'.encode("utf-16")])
def test_json_that_is_no_text_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"x\.json: corrupt, not readable as JSON"):
        read_json(tmp_path / "x.json")


def test_escapes_of_whole_characters_are_read(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(r'{"a": "\u00e9 \ud83d\ude00"}')
    assert read_json(tmp_path / "x.json") == {"a": "é \U0001f600"}


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.json")
    with pytest.raises(CorruptFileError, match=r"x\.json: corrupt, not a regular file"):
        read_json(tmp_path / "x.json")


class Thing(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    count: int
    names: list[str]


def test_a_record_that_fits_its_model() -> None:
    assert checked_record(Thing, {"count": 2, "names": ["a"]}, "x") == Thing(count=2, names=["a"])


@pytest.mark.parametrize(
    ("record", "place"),
    [
        ({"names": []}, "count: field required"),
        ({"count": "2", "names": []}, "count: input should be a valid integer"),
        ({"count": 2, "names": ["a", 3]}, r"names\.1: input should be a valid string"),
        ({"count": 2, "names": [], "more": 1}, "more: extra inputs"),
    ],
)
def test_the_first_place_that_does_not_fit_is_named(record: dict[str, Any], place: str) -> None:
    with pytest.raises(CorruptFileError, match=rf"^file: no thing \({place}"):
        checked_record(Thing, record, "file: no thing")
