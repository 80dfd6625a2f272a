"""TOML files are read as data, and values of the command line as TOML spells them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from confgcn.exceptions import UsageError
from confgcn.io.toml import MOST_BYTES, parse_value, read_toml


@pytest.mark.parametrize("content", [b"a = 1\n[b]\nc = 'x'\n", b"\xef\xbb\xbfa = 1\n[b]\nc = 'x'\n"])
def test_tables_are_read_with_and_without_a_byte_order_mark(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.toml").write_bytes(content)
    assert read_toml(tmp_path / "x.toml") == {"a": 1, "b": {"c": "x"}}


@pytest.mark.parametrize("content", [b"a = ", b"\xff\xfe", b"a = " + b"[" * 5000, b"a = " + b"9" * 5000])
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.toml").write_bytes(content)
    with pytest.raises(UsageError, match=r"x\.toml: not a TOML file"):
        read_toml(tmp_path / "x.toml")


def test_a_file_that_is_too_large_is_not_parsed(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(UsageError, match=r"x\.toml: more than 1,048,576 bytes"):
        read_toml(tmp_path / "x.toml")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("'adam'", "adam"),
        ("[1, 2]", [1, 2]),
        ("adam", "adam"),
        ("", ""),
        ("1\nother = 2", "1\nother = 2"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_a_value_of_the_command_line(text: str, value: Any) -> None:
    assert parse_value(text) == value
