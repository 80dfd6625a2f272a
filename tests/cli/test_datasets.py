"""``confgcn datasets``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def test_datasets_lists_all_five_and_where_they_are(command: Command, tmp_path: Path) -> None:
    nowhere = {"HOME": str(tmp_path), "PATH": "", "XDG_CACHE_HOME": str(tmp_path)}
    listed = json.loads(command("datasets", "--json", env=nowhere).stdout)
    assert set(listed) == {"citeseer", "cora", "cora_ml", "demo", "pubmed"}
    assert listed["demo"]["found"] == "inside the package"
    assert listed["cora"]["found"] is None
    assert "not found; downloaded on first use" in command("datasets", env=nowhere).stdout
