"""An adjacency written block by block equals the one computed in memory."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confgcn.data.formats import csr_files
from confgcn.data.formats.array_files import map_npy
from confgcn.data.formats.csr_files import check_ascending, checked_entries, write_adjacency
from confgcn.exceptions import CorruptFileError
from confgcn.graph import EdgeCounts, symmetric_adjacency
from confgcn.io import blocks

Pairs = list[tuple[int, int]]


@st.composite
def lists_of_edges(draw: st.DrawFn) -> tuple[int, Pairs]:
    """Few nodes and many edges: duplicates, loops and edges of one direction."""
    num_nodes = draw(st.integers(1, 9))
    node = st.integers(0, num_nodes - 1)
    return num_nodes, draw(st.lists(st.tuples(node, node), max_size=40))


def written(pairs: Pairs, num_nodes: int, step: int) -> tuple[list[int], list[int], EdgeCounts]:
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = [array[first : first + step] for first in range(0, len(array), step)]
        counts = write_adjacency(folder, lambda: iter(parts), num_nodes)
        assert sorted(file.name for file in folder.iterdir()) == ["indices.npy", "indptr.npy"]
        return map_npy(folder / "indptr.npy").tolist(), map_npy(folder / "indices.npy").tolist(), counts


@settings(max_examples=150, deadline=None, derandomize=True)
@given(lists_of_edges(), st.integers(1, 50), st.sampled_from([1, 2, 5, 1000]))
def test_the_written_adjacency_equals_the_one_in_memory(graph: tuple[int, Pairs], step: int, block: int) -> None:
    num_nodes, pairs = graph
    structure, counts = symmetric_adjacency(np.array(pairs, dtype=np.int64).reshape(-1, 2), num_nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", block)
        patch.setattr(csr_files, "BLOCK", block)
        found = written(pairs, num_nodes, step)
    assert found == (structure.indptr.tolist(), structure.indices.tolist(), counts)


def test_a_graph_counted_by_hand() -> None:
    pairs = [(0, 1), (1, 0), (0, 1), (2, 2), (1, 2)]
    indptr, indices, counts = written(pairs, 4, step=2)
    assert indptr == [0, 2, 5, 7, 8]
    assert indices == [0, 1, 0, 1, 2, 1, 2, 3]
    assert counts == EdgeCounts(listed=5, duplicates=1, loops=1, one_way=1, unique=2)


def test_a_hub_of_more_than_a_block_is_merged_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (blocks, csr_files):
        monkeypatch.setattr(module, "BLOCK", 3)
    pairs = [(0, leaf) for leaf in range(1, 9)] * 3
    indptr, indices, counts = written(pairs, 9, step=5)
    assert indptr == [0, *range(9, 26, 2)]
    assert indices[:9] == list(range(9))
    assert counts == EdgeCounts(listed=24, duplicates=16, loops=0, one_way=8, unique=8)


@pytest.mark.parametrize("shape", ["even", "hub", "one edge"])
def test_memory_does_not_grow_with_the_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    for module in (blocks, csr_files):
        monkeypatch.setattr(module, "BLOCK", 2**12)

    def edges() -> Iterator[Any]:
        random = np.random.default_rng(0)
        for _ in range(300):
            pairs = random.integers(0, 1000, (2**11, 2))
            yield {"even": pairs, "hub": pairs * [0, 1], "one edge": pairs * 0 + [1, 2]}[shape]

    tracemalloc.start()
    counts = write_adjacency(tmp_path, edges, 1000)
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts.listed == 300 * 2**11
    assert highest < 0.2 * counts.listed * 16  # which the list of edges would take


FILES = Path("p.npy"), Path("i.npy")
INDPTR, INDICES = np.array([0, 2, 2, 5]), np.array([1, 3, 0, 2, 3])


@pytest.fixture(params=[1, 2, 100], autouse=True)
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is looked at together."""
    monkeypatch.setattr(blocks, "BLOCK", request.param)


def test_every_entry_is_checked_once() -> None:
    found = [*checked_entries(FILES, INDPTR, INDICES, 4)]
    assert np.concatenate([row for row, _ in found]).tolist() == [0, 0, 2, 2, 2]
    assert np.concatenate([column for _, column in found]).tolist() == INDICES.tolist()


@pytest.mark.parametrize("indptr", [[1, 2, 2, 5], [0, 2, 2, 4], [0, 3, 2, 5], [0, 2, 7, 5], [0, -1, 2, 5]])
def test_pointers_that_do_not_describe_the_entries(indptr: list[int]) -> None:
    with pytest.raises(CorruptFileError, match=r"p\.npy: corrupt, it does not describe 5 entries"):
        list(checked_entries(FILES, np.array(indptr), INDICES, 4))


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("value", [-1, 4, -(2**63), 2**63 - 1])
def test_a_column_that_is_outside(place: int, value: int) -> None:
    indices = INDICES.copy()
    indices[place] = value
    with pytest.raises(CorruptFileError, match=r"i\.npy: corrupt, expected numbers from 0 to 3"):
        list(checked_entries(FILES, INDPTR, indices, 4))


@pytest.mark.parametrize("indices", [[3, 1, 0, 2, 3], [1, 1, 0, 2, 3], [1, 3, 0, 3, 2], [1, 3, 0, 3, 3]])
def test_a_row_that_is_not_sorted(indices: list[int]) -> None:
    with pytest.raises(CorruptFileError, match=r"i\.npy: corrupt, .* sorted in each row"):
        list(checked_entries(FILES, INDPTR, np.array(indices), 4))


@pytest.mark.parametrize("numbers", [[], [0], [3], [0, 1, 2, 3], [0, 2, 3]])
def test_places_that_are_sound(numbers: list[int]) -> None:
    check_ascending(FILES[0], np.array(numbers, dtype=np.int64), 4)


@pytest.mark.parametrize(
    "numbers",
    [[-1], [4], [0, 0], [1, 0], [0, 2, 1], [0, 1, 1], [0, 3, 1, 3], [2**63 - 1, -(2**63), 3], [-1, 3], [0, 4]],
)
def test_places_that_are_not(numbers: list[int]) -> None:
    with pytest.raises(CorruptFileError, match=r"p\.npy: corrupt, expected numbers from 0 to 3, sorted, each once"):
        check_ascending(FILES[0], np.array(numbers), 4)
