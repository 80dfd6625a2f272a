"""The shards that a run of several workers made for itself are used again, or made again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from confgcn.distributed.shard_files import MANIFEST, is_shard_folder
from confgcn.exceptions import ConfGCNError, UsageError
from confgcn.graph import Graph
from confgcn.runs.distributed import _remove_unfit, check_request
from confgcn.runs.request import RunRequest
from confgcn.runs.stored_graph import make_shards


@pytest.fixture
def shards(small_graph: Graph, tmp_path: Path) -> Path:
    make_shards(tmp_path / "shards", small_graph, 3, is_named=False, split_seed=0)
    return tmp_path / "shards"


def test_intact_shards_are_kept(shards: Path, small_graph: Graph) -> None:
    for size in (1, 2, 3):
        assert _remove_unfit(shards, small_graph.fingerprint, size) == []
    assert is_shard_folder(shards)


def test_a_missing_folder_gives_no_notice(tmp_path: Path) -> None:
    assert _remove_unfit(tmp_path / "shards", "", 2) == []


@pytest.mark.parametrize(("fingerprint", "size"), [(None, 4), ("0" * 64, 3)], ids=["more workers", "another graph"])
def test_shards_that_do_not_fit_are_removed_without_a_notice(
    shards: Path, small_graph: Graph, fingerprint: str | None, size: int
) -> None:
    assert _remove_unfit(shards, fingerprint or small_graph.fingerprint, size) == []
    assert not shards.exists()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no record": lambda shards: (shards / MANIFEST).unlink(),
    "a record cut short": lambda shards: (shards / MANIFEST).write_text("{"),
    "no array": lambda shards: (shards / "shard-0002/labels.npy").unlink(),
    "an array of something else": lambda shards: (shards / "shard-0002/labels.npy").write_bytes(b"x"),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_damaged_shards_are_removed_with_a_notice(shards: Path, small_graph: Graph, kind: str) -> None:
    DAMAGES[kind](shards)
    (notice,) = _remove_unfit(shards, small_graph.fingerprint, 2)
    assert ("labels.npy" if "array" in kind else MANIFEST) in notice
    assert notice.endswith("the graph is partitioned again")
    assert not shards.exists()


def test_a_link_is_not_followed(shards: Path, small_graph: Graph, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(shards)
    with pytest.raises(ConfGCNError, match="link"):
        _remove_unfit(link, small_graph.fingerprint, 4)
    assert is_shard_folder(shards)


def test_a_preset_that_needs_the_whole_graph_names_one_that_does_not(small_graph: Graph, tmp_path: Path) -> None:
    request = RunRequest(graph=small_graph, preset="propagated", out=tmp_path / "run")
    with pytest.raises(UsageError, match="--preset consensus"):
        check_request(request, 2)
    assert not (tmp_path / "run").exists()
