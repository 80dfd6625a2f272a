"""Output shared by the commands: names from files cannot break a line or reach the terminal as control codes."""

from __future__ import annotations

import pytest

from confgcn.cli.console import LONGEST_MESSAGE, one_line, print_error, print_json, split_names


def test_names_are_split_at_commas_and_kept_once() -> None:
    assert split_names(["degree, identity", "degree"]) == ("degree", "identity")
    assert split_names(None) == ()


def test_line_breaks_and_control_codes_are_escaped() -> None:
    assert one_line("a\nb\x1b[31m") == "a\\nb\\x1b[31m"


def test_a_long_error_keeps_its_beginning_and_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("start " + 5000 * "x" + " end\nsecond line")
    shown = capsys.readouterr().err
    assert shown.startswith("error: start ")
    assert shown.endswith(" end\n  second line\n")
    assert len(shown) < LONGEST_MESSAGE + 30


def test_json_is_one_line_without_numbers_that_json_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "é\n"})
    assert capsys.readouterr().out.count("\n") == 1
    with pytest.raises(ValueError, match="JSON"):
        print_json({"loss": float("nan")})
