"""Streams of the command line: results that cannot be written end it, messages do not. In processes: tests/faults."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator

import pytest

from confgcn.cli.streams import _as_text, _Messages, _Results
from confgcn.exceptions import ResourceError


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:
            continue


def test_results_and_messages_reach_the_reader(pipe: tuple[int, int]) -> None:
    for kind in (_Results, _Messages):
        with kind(pipe[1], "wb", closefd=False) as stream:
            assert stream.write(b"text") == 4
        assert os.read(pipe[0], 10) == b"text"


def test_a_message_without_a_reader_is_dropped(pipe: tuple[int, int]) -> None:
    os.close(pipe[0])
    with _Messages(pipe[1], "wb", closefd=False) as stream:
        assert stream.write(b"text") == 4


def test_a_result_without_a_reader_ends_the_command_silently_and_later_output_goes_nowhere(
    pipe: tuple[int, int],
) -> None:
    os.close(pipe[0])
    with _Results(pipe[1], "wb", closefd=False) as stream:
        with pytest.raises(SystemExit) as ended:
            stream.write(b"text")
        assert ended.value.code == 128 + signal.SIGPIPE
        assert stream.write(b"more") == 4


def test_a_result_that_finds_no_space_is_an_error() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    with _Results(full, "wb") as stream, pytest.raises(ResourceError, match="standard output: No space left"):
        stream.write(b"text")


def test_characters_outside_the_encoding_are_escaped(pipe: tuple[int, int]) -> None:
    before = io.TextIOWrapper(io.BytesIO(), "ascii")
    with _as_text(_Messages(os.dup(pipe[1]), "wb"), before) as stream:
        stream.write("é")
    assert os.read(pipe[0], 10) == rb"\xe9"
