"""docs/api.md is what the docstrings and the command line give, and leaves no public name out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Literal

import pytest

import confgcn
from confgcn.cli.main import app

ROOT = Path(__file__).parents[1]
COMMANDS = [command.name for command in app.registered_commands]
Colour = Literal["red", "blue"]
Tell = Callable[[str], None]


@pytest.fixture(scope="module")
def tool(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("tools/api_reference.py")


@pytest.fixture(scope="module")
def page(tool: ModuleType) -> str:
    return str(tool.reference())


def test_the_reference_is_what_the_docstrings_give(page: str) -> None:
    assert (ROOT / "docs" / "api.md").read_text() == page, "write it again with: python tools/api_reference.py"


@pytest.mark.parametrize("name", confgcn.__all__)
def test_every_public_name_has_a_heading(page: str, name: str) -> None:
    assert page.splitlines().count(f"### `confgcn.{name}`") == 1


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_heading(page: str, name: str) -> None:
    assert page.splitlines().count(f"### `confgcn {name}`") == 1


def test_no_heading_comes_twice_at_its_level(page: str) -> None:
    headings = [line for line in page.splitlines() if line.startswith(("## ", "### "))]
    assert sorted(set(headings)) == sorted(headings)


def test_a_code_block_that_is_opened_is_closed_and_no_markup_of_docstrings_is_left(page: str) -> None:
    assert page.count("```") % 2 == 0
    outside = "".join(page.split("```")[::2])
    assert [mark for mark in (":class:", ":func:", ":meth:", "``", ".. math", "~confgcn") if mark in outside] == []


def test_nothing_of_the_machine_is_in_it(page: str) -> None:
    assert [text for text in (str(ROOT), str(Path.home()) + "/", " at 0x", "<class", "<factory>") if text in page] == []


def test_lists_formulas_and_code_of_a_docstring_become_markdown(tool: ModuleType) -> None:
    def documented() -> None:
        r"""Sum up ``x``, see :func:`~confgcn.data.raw.natural_key` and :meth:`fit`.

        .. math:: \sum_i x_i

        Args:
            x, y: what is
                added: all of it.
            z: not :class:`Graph`.
        """

    assert tool.markdown(documented) == (
        "Sum up `x`, see `natural_key` and `fit`.\n\n"
        "```math\n\\sum_i x_i\n```\n\n"
        "Args:\n\n- `x`, `y`: what is added: all of it.\n- `z`: not `Graph`.\n"
    )


def test_a_signature_spells_out_choices_and_functions(tool: ModuleType) -> None:
    def paint(node: int, *, colour: Colour = "red", tell: Tell | None = None) -> Sequence[str]:
        return ()

    assert tool.signature("paint", paint).splitlines() == [
        "paint(",
        "    node: int,",
        "    *,",
        "    colour: Literal['red', 'blue'] = 'red',",
        "    tell: Callable[[str], None] | None = None,",
        ") -> Sequence[str]",
    ]


def test_a_switch_takes_nothing_and_a_default_of_zero_is_shown(page: str) -> None:
    train = page.split("### `confgcn train`")[1].split("\n### ")[0]
    assert "| `--resume` |  |  | Go on with the run in --out. |" in train
    assert "| `--validation` | number | `0.0` |" in train
    assert "| `--set` | `NAME=VALUE`, may be repeated |" in train
    assert "| `--influence` | `agreement`, `distance`, `uniform` |" in train
