"""``confgcn partition``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

Command = Callable[..., "CompletedProcess[str]"]


def test_shards_are_a_graph_for_every_command(command: Command, tmp_path: Path) -> None:
    made = command("partition", "demo", "--shards", 2, "--out", "shards", "--json")
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)
    assert found["shards"] == 2
    assert 0.0 < found["crossing_share"] < 0.5
    whole, shards = (json.loads(command("inspect", graph, "--json").stdout) for graph in ("demo", "shards"))
    assert {**shards, "graph": None} == {**whole, "graph": None}


def test_options_that_shards_cannot_have(command: Command) -> None:
    command("partition", "demo", "--shards", 2, "--by", "hash", "--out", "shards")
    refused = command("train", "shards", "--validation", 0.1)
    assert refused.returncode == 2
    assert "a folder of shards takes no options" in refused.stderr
    again = command("partition", "demo", "--shards", 2, "--out", "shards")
    assert again.returncode == 2
    assert "exists" in again.stderr


def test_several_workers_refuse_what_they_cannot_do(command: Command) -> None:
    for words, message in (
        (("--seeds", 2), "one job for each"),
        (("--method", "gcn"), "cannot be trained by several workers"),
        (("--preset", "consensus", "--set", "flipped_labels=0.1"), "single worker"),
    ):
        refused = command("train", "demo", "--workers", 2, "--out", "run", *words)
        assert refused.returncode == 2, refused.stderr
        assert message in refused.stderr
        assert refused.stderr.count("error:") == 1, refused.stderr
