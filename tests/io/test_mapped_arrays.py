"""Arrays in a folder are complete and verified, or refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from confgcn.exceptions import CorruptFileError, ResourceError, UsageError
from confgcn.io.json_files import write_checksummed_json
from confgcn.io.mapped_arrays import Arrays, map_arrays, write_arrays

NUMBERS = np.arange(12, dtype=np.int32).reshape(6, 2)


def blocks() -> Iterator[Arrays]:
    for rows in (slice(0, 4), slice(4, 6)):
        yield {"one": NUMBERS[rows], "other": NUMBERS[rows, 0] / 4}


def test_blocks_are_mapped_as_whole_arrays(tmp_path: Path) -> None:
    write_arrays(tmp_path / "arrays", 6, blocks())
    arrays = map_arrays(tmp_path / "arrays", ("one", "other"))
    assert np.array_equal(arrays["one"], NUMBERS)
    assert np.array_equal(arrays["other"], NUMBERS[:, 0] / 4)
    assert isinstance(arrays["one"], np.memmap)
    assert np.array_equal(np.load(tmp_path / "arrays" / "one.npy"), NUMBERS)


def test_values_set_in_memory_do_not_reach_the_file(tmp_path: Path) -> None:
    write_arrays(tmp_path, 6, blocks())
    map_arrays(tmp_path, ("one",))["one"][:] = 7
    assert np.array_equal(map_arrays(tmp_path, ("one",))["one"], NUMBERS)


def test_an_error_in_a_block_leaves_the_earlier_arrays(tmp_path: Path) -> None:
    def failing() -> Iterator[Arrays]:
        yield {"one": NUMBERS[:4] + 1}
        raise KeyError

    write_arrays(tmp_path / "arrays", 6, blocks())
    with pytest.raises(KeyError):
        write_arrays(tmp_path / "arrays", 6, failing())
    assert np.array_equal(map_arrays(tmp_path / "arrays", ("one",))["one"], NUMBERS)
    assert [path.name for path in tmp_path.iterdir()] == ["arrays"]


def test_a_folder_with_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("important")
    with pytest.raises(UsageError, match="holds other files"):
        write_arrays(tmp_path, 6, blocks())
    assert (tmp_path / "thesis.txt").read_text() == "important"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceError, match="file"):
        write_arrays(tmp_path / "file" / "arrays", 6, blocks())


@pytest.mark.parametrize("size", [0, 5, 100, 150])
def test_a_truncated_file_is_refused(tmp_path: Path, size: int) -> None:
    write_arrays(tmp_path, 6, blocks())
    path = tmp_path / "one.npy"
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(CorruptFileError, match=r"one\.npy: corrupt, its checksum does not match"):
        map_arrays(tmp_path, ("one", "other"))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    write_arrays(tmp_path, 6, blocks())
    (tmp_path / "other.npy").unlink()
    with pytest.raises(CorruptFileError, match=r"other\.npy: missing, though arrays\.json lists it"):
        map_arrays(tmp_path, ("one", "other"))


def test_an_array_that_was_not_written_is_refused(tmp_path: Path) -> None:
    write_arrays(tmp_path, 6, blocks())
    with pytest.raises(CorruptFileError, match=r"third\.npy: arrays\.json does not list it"):
        map_arrays(tmp_path, ("third",))


def test_a_record_of_something_else_is_refused(tmp_path: Path) -> None:
    write_checksummed_json(tmp_path / "arrays.json", {"files": [1]})
    with pytest.raises(CorruptFileError, match=r"arrays\.json: lists no arrays"):
        map_arrays(tmp_path, ("one",))
