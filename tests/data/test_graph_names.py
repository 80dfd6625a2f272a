"""Names of data sets, and how they are distinguished from paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.data.datasets import DATASETS
from confgcn.data.graph_names import GRAPH_NAMES, check_graph_name, is_path
from confgcn.exceptions import UsageError


def test_the_names_are_those_of_the_data_sets() -> None:
    assert tuple(DATASETS) == GRAPH_NAMES


@pytest.mark.parametrize("text", ["folder/graph", "graph.npz", "./cora"])
def test_a_text_with_a_slash_or_a_dot_is_a_path(text: str) -> None:
    assert is_path(text)


def test_a_bare_word_is_a_path_only_if_the_file_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not is_path("mine")
    (tmp_path / "mine").mkdir()
    assert is_path("mine")


def test_a_data_set_wins_over_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cora").mkdir()
    assert not is_path("cora")


def test_an_unknown_name_is_refused_with_the_choices() -> None:
    check_graph_name("cora")
    with pytest.raises(UsageError, match=r"graph 'coro'.*citeseer, cora"):
        check_graph_name("coro")
