"""An array in a file is read, mapped and written in parts as numpy does it, and nothing is believed of a header."""

from __future__ import annotations

import errno
import io
from pathlib import Path

import numpy as np
import pytest

from confgcn.data.formats.npy import growing_npy, map_npy, npy_header, read_npy, write_npy
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError

NUMBERS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("array", [NUMBERS, np.asfortranarray(NUMBERS), NUMBERS.astype(">f8"), NUMBERS[:0]])
def test_what_numpy_saves_is_mapped_as_it_is(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    assert np.array_equal(map_npy(tmp_path / "x.npy"), array)
    assert np.array_equal(read_npy(tmp_path / "x.npy"), array)
    assert npy_header(tmp_path / "x.npy").shape == array.shape


def test_what_is_written_to_a_mapped_array_never_comes_into_the_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", NUMBERS)
    before = (tmp_path / "x.npy").read_bytes()
    mapped = map_npy(tmp_path / "x.npy", "c")
    mapped[0] = 7
    mapped.flush()  # type: ignore[attr-defined]
    assert (tmp_path / "x.npy").read_bytes() == before


@pytest.mark.parametrize("cuts", [[], [0], [1, 1, 3], [4]])
def test_an_array_that_grows_is_the_one_that_is_saved_at_once(tmp_path: Path, cuts: list[int]) -> None:
    with growing_npy(tmp_path / "x.npy", np.float32, (3,)) as append:
        for part in np.split(NUMBERS.astype(np.float64), cuts):
            append(part)
    whole = io.BytesIO()
    np.save(whole, NUMBERS)
    assert (tmp_path / "x.npy").read_bytes() == whole.getvalue()
    write_npy(tmp_path / "y.npy", NUMBERS)
    assert (tmp_path / "y.npy").read_bytes() == whole.getvalue()


@pytest.mark.parametrize("length", [0, 5, 60, 150])
def test_a_truncated_file_is_refused_by_name(tmp_path: Path, length: int) -> None:
    np.save(tmp_path / "x.npy", NUMBERS)
    (tmp_path / "x.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:length])
    with pytest.raises(DataError, match=r"x\.npy"):
        map_npy(tmp_path / "x.npy")


def test_objects_are_never_made(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}, print]), allow_pickle=True)
    with pytest.raises(UnsafeFileError, match="object array"):
        map_npy(tmp_path / "x.npy")


def test_a_file_of_another_kind_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_text("source,target\n")
    with pytest.raises(CorruptFileError, match=r"not a readable \.npy file"):
        map_npy(tmp_path / "x.npy")


def test_a_disk_that_is_full_is_told_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"x\.npy") as caught, growing_npy(tmp_path / "x.npy", np.float32):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.errno == errno.ENOSPC
