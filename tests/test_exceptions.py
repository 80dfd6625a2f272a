"""Error classes, their exit codes, and short messages."""

from __future__ import annotations

import ast
import builtins
import re
from pathlib import Path

import pytest

from confgcn import exceptions
from confgcn.exceptions import LONGEST_TEXT, ConfGCNError, StoppedError, brief, unknown_name

ERRORS = [value for value in vars(exceptions).values() if isinstance(value, type) and issubclass(value, ConfGCNError)]
BUILTINS = [value for value in vars(builtins).values() if isinstance(value, type)]


def raised(error: type[ConfGCNError]) -> ConfGCNError:
    return StoppedError("stopped", 2) if error is StoppedError else error("message")


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_every_error_ends_in_error_and_derives_from_a_builtin(error: type[ConfGCNError]) -> None:
    assert error.__name__.endswith("Error")
    specific = [base for base in error.__mro__ if base in BUILTINS and base not in (Exception, BaseException, object)]
    assert specific or error is ConfGCNError


@pytest.mark.parametrize("error", ERRORS[1:], ids=lambda error: error.__name__)
def test_the_tree_in_the_docstring_has_every_error_with_its_exit_code(error: type[ConfGCNError]) -> None:
    (line,) = re.findall(rf"{error.__name__}\b.*", exceptions.__doc__ or "")
    builtin = next((base.__name__ for base in error.__bases__ if base in BUILTINS), None)
    code = "128 + n" if error is StoppedError else str(error.exit_code)
    assert re.search(rf"{error.__name__}{rf' .{builtin}.' if builtin else ''} +{re.escape(code)} ", line)
    assert raised(error).exit_code == (130 if error is StoppedError else int(code))


def test_every_error_class_of_the_package_is_in_this_module() -> None:
    folder = Path(exceptions.__file__).parent
    classes = {
        node.name: file.relative_to(folder).as_posix()
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
        and any(ast.unparse(base).endswith(("Error", "Exception")) for base in node.bases)
    }
    public = {name: file for name, file in classes.items() if not name.startswith("_")}
    assert public == {error.__name__: "exceptions.py" for error in ERRORS}


def test_a_text_from_outside_is_one_short_line() -> None:
    assert brief("a\n  b\tc ") == "a b c"
    assert brief(ValueError("no")) == "no"
    assert brief("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT
    assert brief("x" * 201) == "x" * 200 + "..."
    assert brief("abc", 2) == "ab..."


def test_an_unknown_name_is_reported_with_the_nearest_and_all_known_ones() -> None:
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
