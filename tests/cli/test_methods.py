"""``confgcn methods``."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def test_methods_lists_each_with_its_paper_and_what_it_uses(command: Command) -> None:
    listed = json.loads(command("methods", "--json").stdout)
    assert len(listed) == 16
    assert listed["taco"]["uses"] == ["graph", "confidences"]
    assert all(entry["summary"] and entry["paper"] for entry in listed.values())
    shown = command("methods").stdout
    assert "label_propagation" in shown
    assert "Zhu, Ghahramani, Lafferty, ICML 2003" in shown
