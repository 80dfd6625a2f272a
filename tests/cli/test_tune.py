"""The search from the command line: what it prints, for people and for programs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

pytest.importorskip("optuna")


def test_the_best_settings_are_printed_as_settings_and_as_json(command: Command, tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text('epochs = [1, 4]\nhidden_dim = [4]\ninfluence = ["uniform"]')
    words = ("tune", "demo", "--space", "space.toml", "--study", "study.db", "--seeds", 1)
    shown = command(*words)
    assert shown.returncode == 0, shown.stderr
    assert shown.stderr.count("trial ") == 2
    found = json.loads(command(*words, "--json").stdout)  # of the same study, so nothing is tried again
    heading, *settings = shown.stdout.splitlines()
    assert found["trials"] == 2
    assert heading == f"# validation accuracy {found['validation_accuracy']:.4f} in 2 trials of 1 seeds"
    assert settings == [f"{name} = {value!r}" for name, value in found["settings"].items()]
    assert set(found["settings"]) == {"epochs", "hidden_dim", "influence"}
