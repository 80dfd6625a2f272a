"""On what a result was computed, and its hash."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from confgcn import __version__
from reproduction import environment


def test_versions_and_hardware_are_named() -> None:
    key, found = environment.environment()
    assert found["versions"]["torch"] == str(torch.__version__)
    assert found["versions"]["confgcn"] == __version__
    assert found["processor"]
    assert environment.environment() == (key, found)


def test_another_processor_is_another_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before, _ = environment.environment()
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name : Abacus: 3000\nmodel name : Abacus: 3000\n")
    monkeypatch.setattr(environment, "CPU_INFO", tmp_path / "cpuinfo")
    key, found = environment.environment()
    assert found["processor"] == "Abacus: 3000"
    assert key != before


def test_a_processor_without_a_name_has_another_word(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "CPU_INFO", tmp_path / "none")
    assert environment.environment()[1]["processor"]
