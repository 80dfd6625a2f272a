"""Pickles of plain values are followed to the same values, and no other instruction is."""

from __future__ import annotations

import os
import pickle
from typing import Any

import pytest

from confgcn.data.formats.pickle_stack import read_values
from confgcn.exceptions import UnsafeFileError

SHARED = ["a", 1]
VALUES: list[Any] = [
    *(None, True, False, 0, -1, 255, 70_000, 2**40, -(2**70), 10**400, 0.5, -1e308, "", "text", "é\n", "x" * 300),
    *((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1], list(range(2000)), {}, {"a": 1, 2: [3]}),
    [SHARED, SHARED, {"again": SHARED}],
    {number: [number] for number in range(1500)},
]


class Recorded:
    """Stands for an object, and remembers what it is given."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments
        self.state: Any = None

    def fill(self, state: Any) -> None:
        self.state = state


STAND_INS = {("a", "b"): Recorded}


@pytest.mark.parametrize("protocol", range(6))
def test_plain_values_are_read_as_pickle_reads_them(protocol: int) -> None:
    for value in VALUES:
        assert read_values(pickle.dumps(value, protocol), {}) == value


def test_bytes_and_texts_of_python_2_are_read() -> None:
    assert read_values(b"U\x03a\xe9b.", {}) == "a\xe9b"
    assert read_values(b"T\x03\x00\x00\x00abc.", {}) == "abc"
    assert read_values(b"S'a\\x41'\n.", {}) == "aA"
    assert read_values(pickle.dumps(b"\x00\xff", 4), {}) == b"\x00\xff"


def test_what_is_shared_stays_shared() -> None:
    first, second, _ = read_values(pickle.dumps([SHARED, SHARED, {}], 2), {})
    assert first is second


def test_a_named_object_is_its_stand_in() -> None:
    found = read_values(b"ca\nb\n(I1\nS'x'\ntR}S'key'\nI2\nsb.", STAND_INS)
    assert isinstance(found, Recorded)
    assert (found.arguments, found.state) == ((1, "x"), {"key": 2})


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_nothing_is_imported_or_called(protocol: int) -> None:
    class Live:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.system, ("exit 1",)

    with pytest.raises(UnsafeFileError, match=r"refused the global (posix|nt|os)\.system"):
        read_values(pickle.dumps(Live(), protocol), STAND_INS)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"(ia\nb\n.", "instruction INST a b"),
        (b"(ca\nb\no.", "instruction OBJ"),
        (b"Pid\n.", "instruction PERSID id"),
        (b"\x82\x01.", "instruction EXT1 1"),
        (b"\x80\x05\x97.", "instruction NEXT_BUFFER"),
        (b"\x80\x05\x96\x01\x00\x00\x00\x00\x00\x00\x00a.", "instruction BYTEARRAY8"),
        (b"\x80\x04\x8f.", "instruction EMPTY_SET"),
        (b"\x80\x04)\x91.", "instruction FROZENSET"),
        (b"ca\nB\n.", "global a.B"),
        (b"ca.b\nb\n.", "global a.b.b"),
        (b"\x80\x04\x8c\x01a\x8c\x03b.c\x93.", "global a.b.c"),
    ],
)
def test_other_instructions_and_names_are_refused_by_name(content: bytes, name: str) -> None:
    with pytest.raises(UnsafeFileError, match=f"refused the {name}"):
        read_values(content, STAND_INS)


def test_a_refusal_is_short() -> None:
    with pytest.raises(UnsafeFileError) as raised:
        read_values(b"c" + b"m" * 100_000 + b"\nb\n.", STAND_INS)
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"I1\nI2\na.", "no list"),
        (b"]I1\nI2\ns.", "expected a dictionary"),
        (b"}(I1\nI2\ntI3\ns.", "numbers or texts"),
        (b"(I1\n(I2\ntI3\nd.", None),
        (b"ca\nb\n}b.", "takes none"),
        (b"]}b.", "takes none"),
        (b"ca\nb\nI1\nR.", "cannot be"),
        (b"I1\n(tR.", "cannot be"),
        (b"]tR.", None),
        (b"I1\n(\x86.", "too few values"),
        (b"\x80\x04\x8c\x01aI1\n\x93.", "no text"),
        (b"h\x05.", None),
        (b"t.", None),
        (b".", None),
        (b"I1\n", None),
        (b"", None),
        (b"\xff.", None),
    ],
)
def test_a_damaged_pickle_is_an_error_and_no_value(content: bytes, problem: str | None) -> None:
    with pytest.raises((ValueError, LookupError, TypeError), match=problem):
        read_values(content, STAND_INS)


def test_keys_that_take_for_ever_to_hash_are_refused() -> None:
    """Fifty nested pairs, each twice in the next: nothing to build, two to the fifty steps to hash."""
    doubled = b")" + b"q\x00h\x00\x86" * 50
    with pytest.raises(ValueError, match="numbers or texts"):
        read_values(b"}" + doubled + b"I1\ns.", {})
