"""Help that helps: an example in every command, completion, and suggestions."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest
import typer

from confgcn.cli.main import app

Command = Callable[..., "subprocess.CompletedProcess[str]"]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_shows_an_example_of_itself(name: str) -> None:
    assert f"For example: confgcn {name}" in (COMMANDS[name].help or "")


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_says_what_it_is_for(name: str) -> None:
    silent = [option.name for option in COMMANDS[name].params if not getattr(option, "help", None)]
    assert not silent


def test_a_mistyped_command_or_option_is_answered_with_what_was_meant(command: Command) -> None:
    assert "Did you mean 'train'" in command("trian").stderr
    assert "--seeds" in command("train", "demo", "--seds", "3").stderr


def test_the_shell_can_complete_commands_and_names(command: Command) -> None:
    named = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # not every parent is a shell
    shown = command("--show-completion", "bash", env=named)
    assert "_CONFGCN_COMPLETE" in shown.stdout
