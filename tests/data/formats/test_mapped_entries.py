"""Entries and places that may be mapped, gone through block by block."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confgcn.data.formats.mapped_entries import check_ascending, entry_blocks
from confgcn.exceptions import CorruptFileError
from confgcn.io import blocks

FILES = Path("p.npy"), Path("i.npy")
INDPTR, INDICES = np.array([0, 2, 2, 5]), np.array([1, 3, 0, 2, 3])


@pytest.fixture(params=[1, 2, 100], autouse=True)
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is looked at together."""
    monkeypatch.setattr(blocks, "BLOCK", request.param)


def test_every_entry_comes_once() -> None:
    found = [*entry_blocks(FILES, INDPTR, INDICES, 4)]
    assert np.concatenate([row for row, _ in found]).tolist() == [0, 0, 2, 2, 2]
    assert np.concatenate([column for _, column in found]).tolist() == INDICES.tolist()


@pytest.mark.parametrize("indptr", [[1, 2, 2, 5], [0, 2, 2, 4], [0, 3, 2, 5], [0, 2, 7, 5], [0, -1, 2, 5]])
def test_pointers_that_do_not_describe_the_entries(indptr: list[int]) -> None:
    with pytest.raises(CorruptFileError, match=r"p\.npy: corrupt, it does not describe 5 entries"):
        list(entry_blocks(FILES, np.array(indptr), INDICES, 4))


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("value", [-1, 4, -(2**63), 2**63 - 1])
def test_a_column_that_is_outside(place: int, value: int) -> None:
    indices = INDICES.copy()
    indices[place] = value
    with pytest.raises(CorruptFileError, match=r"i\.npy: corrupt, expected numbers from 0 to 3"):
        list(entry_blocks(FILES, INDPTR, indices, 4))


@pytest.mark.parametrize("indices", [[3, 1, 0, 2, 3], [1, 1, 0, 2, 3], [1, 3, 0, 3, 2], [1, 3, 0, 3, 3]])
def test_a_row_that_is_not_sorted(indices: list[int]) -> None:
    with pytest.raises(CorruptFileError, match=r"i\.npy: corrupt, .* sorted in each row"):
        list(entry_blocks(FILES, INDPTR, np.array(indices), 4))


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
