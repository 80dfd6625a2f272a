"""What is said of a mistake: short, on one line, with what is near."""

from __future__ import annotations

from confgcn.exceptions import LONGEST_TEXT, brief, unknown_name


def test_a_text_from_outside_is_one_short_line() -> None:
    assert brief("a\n  b\tc ") == "a b c"
    assert brief(ValueError("no")) == "no"
    assert brief("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    assert brief("x" * 201) == "x" * 200 + "..."
    assert brief("abc", 2) == "ab..."


def test_an_unknown_name_is_said_with_what_is_near_and_what_there_is() -> None:
    assert str(unknown_name("fruit", "aple", ["pear", "apple"])) == (
        "unknown fruit 'aple': did you mean 'apple'? choose from apple, pear"
    )
    assert str(unknown_name("fruit", "x", ["pear"])) == "unknown fruit 'x': choose from pear"


def test_neither_a_long_name_nor_many_choices_make_a_long_message() -> None:
    choices = [f"{number} {'y' * 3000}" for number in range(1000)]
    for name in ("x" * 100_000, choices[0] + "z"):
        message = str(unknown_name("node", name, choices))
        assert len(message) < 1000
        assert message.endswith("... (1,000 in all)")
