"""``confgcn report``."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def test_the_report_is_one_file_that_shows_names_as_text(command: Command, trained: Path, tmp_path: Path) -> None:
    result = command("report", trained, "--out", tmp_path / "report.html")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<b>bold" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page
