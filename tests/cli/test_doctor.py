"""Every check is reported, and the exit code says whether one failed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from confgcn.cli import doctor
from confgcn.data import downloads

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def broken() -> str:
    raise RuntimeError("no step was taken")


def test_a_failed_check_is_reported_beside_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "_training_step", broken)
    with pytest.raises(typer.Exit) as ended:
        doctor.doctor()
    assert ended.value.exit_code == 4
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split(maxsplit=1) == ["FAILED", "training step  RuntimeError: no step was taken"]
    assert [line.split()[0] for line in lines[:-1]] == ["ok"] * 6


def test_json_says_the_same(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "_training_step", broken)
    with pytest.raises(typer.Exit):
        doctor.doctor(as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["healthy"] is False
    assert found["training step"] == {"ok": False, "found": "RuntimeError: no step was taken"}
    assert found["python"]["ok"] is True


def test_a_cache_folder_that_cannot_be_written_fails_the_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "not yet" / "there"
    monkeypatch.setattr(downloads, "cache_folder", lambda: folder)
    assert doctor._cache() == str(folder)
    monkeypatch.setattr(doctor.os, "access", lambda path, _: path != tmp_path)  # the first that exists
    with pytest.raises(PermissionError, match="there cannot be written"):
        doctor._cache()


def test_extras_and_graphs_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda package: package == "optuna" or None)
    assert "tune (installed)" in doctor._extras()
    assert "pyg (not installed)" in doctor._extras()
    monkeypatch.setattr(downloads, "cache_folder", lambda: tmp_path)
    monkeypatch.delenv("CONFGCN_DATA", raising=False)
    assert doctor._data(tmp_path).startswith("found demo; downloaded on first use: ")


def test_a_healthy_installation_passes_every_check(command: Command) -> None:
    result = command("doctor", "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["healthy"] is True
    assert "training step" in command("doctor").stdout
