"""Arrays are read without executing code, and a header cannot claim more memory than the file holds."""

from __future__ import annotations

import errno
import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.formats import array_files
from confgcn.data.formats.array_files import (
    map_npy,
    npy_shape,
    npy_writer,
    npz_keys,
    read_npy,
    read_npz,
    sparse_from,
    write_npy,
)
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError


def saved(folder: Path, **arrays: Any) -> Path:
    path = folder / "arrays.npz"
    np.savez_compressed(path, **arrays)
    return path


def claiming(folder: Path, shape: tuple[int, ...]) -> Path:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    path = folder / "claims.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(16))
    return path


def test_arrays_come_back_unchanged(tmp_path: Path) -> None:
    given = {"a": np.arange(6).reshape(2, 3), "b": np.array(["x", "yz"]), "c": np.asfortranarray(np.ones((2, 2)))}
    found = read_npz(saved(tmp_path, **given))
    assert list(found) == ["a", "b", "c"]
    assert all(np.array_equal(found[key], given[key]) for key in given)


def test_only_the_named_arrays_are_read(tmp_path: Path) -> None:
    path = saved(tmp_path, a=np.ones(2), b=np.ones(3))
    assert list(read_npz(path, ["b"])) == ["b"]
    assert npz_keys(path) == ["a", "b"]


def test_a_missing_key_lists_what_was_found(tmp_path: Path) -> None:
    path = saved(tmp_path, first=np.ones(2), second=np.ones(3))
    with pytest.raises(DataError, match=r"has no array third; found first, second") as caught:
        read_npz(path, ["first", "third"])
    assert str(path) in str(caught.value)


def test_an_object_array_is_refused_by_name(tmp_path: Path) -> None:
    path = saved(tmp_path, names=np.array(["a", None], dtype=object))
    with pytest.raises(UnsafeFileError, match=r"names\.npy is an object array"):
        read_npz(path, ["names"])


def test_an_object_field_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, records=np.zeros(1, dtype=[("number", int), ("thing", object)]))
    with pytest.raises(UnsafeFileError, match=r"records\.npy"):
        read_npz(path)


def test_an_object_array_that_is_not_needed_is_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, numbers=np.arange(3), names=np.array([None], dtype=object))
    opened: set[str] = set()
    plain_open = zipfile.ZipFile.open

    def recording_open(archive: zipfile.ZipFile, name: Any, *arguments: Any, **options: Any) -> Any:
        opened.add(getattr(name, "filename", name))
        return plain_open(archive, name, *arguments, **options)

    monkeypatch.setattr(zipfile.ZipFile, "open", recording_open)
    assert read_npz(path, ["numbers"])["numbers"].tolist() == [0, 1, 2]
    assert opened == {"numbers.npy"}


def test_x15_a_header_that_claims_80_tb_is_refused_before_allocating(tmp_path: Path) -> None:
    path = claiming(tmp_path, (10**13,))
    tracemalloc.start()
    with pytest.raises(DataError, match=r"a\.npy claims 80000000000000 bytes"):
        read_npz(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        pytest.param((100,), r"a\.npy claims 800 bytes", id="more than stored"),
        pytest.param((2**32, 2**32), rf"a\.npy claims {2**67} bytes", id="overflows int64"),
        pytest.param((-2,), r"claims\.npz", id="negative"),
    ],
)
def test_a_header_that_does_not_fit_its_data_is_refused(tmp_path: Path, shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(DataError, match=words):
        read_npz(claiming(tmp_path, shape))


def test_x15_an_array_over_the_cap_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, zeros=np.zeros(1000))
    monkeypatch.setattr(array_files, "MAX_BYTES", 8128)
    assert len(read_npz(path)["zeros"]) == 1000
    monkeypatch.setattr(array_files, "MAX_BYTES", 8127)
    with pytest.raises(DataError, match=r"expand to 8128"):
        read_npz(path)


def test_x15_a_zip_bomb_is_refused_before_it_expands(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, zeros=np.zeros(10 * 2**20))
    assert path.stat().st_size < 100_000
    with pytest.raises(DataError, match=r"bomb\.npz: \d+ bytes would expand to 83886208"):
        read_npz(path)


def test_every_truncation_is_a_corrupt_file(tmp_path: Path) -> None:
    path = saved(tmp_path, a=np.arange(20))
    raw = path.read_bytes()
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(CorruptFileError, match=r"arrays\.npz"):
            read_npz(path)


@pytest.mark.parametrize("error", [MemoryError("5 bytes"), OSError(errno.EMFILE, "Too many open files")])
def test_what_the_machine_lacks_is_no_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(3))

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(array_files, "_read_entry", fail)
    with pytest.raises(type(error), match=str(error.args[-1])):
        read_npz(tmp_path / "a.npz")


def test_a_damaged_byte_of_stored_data_is_a_corrupt_file(tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    np.savez(path, a=np.full(20, 7.25))
    raw = path.read_bytes()
    at = raw.index(np.full(20, 7.25).tobytes()) + 50
    path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    with pytest.raises(CorruptFileError, match=r"arrays\.npz"):
        read_npz(path)


def test_a_damaged_compressed_stream_is_a_corrupt_file(tmp_path: Path) -> None:
    path = saved(tmp_path, a=np.arange(20))
    raw = bytearray(path.read_bytes())
    start = raw.index(b"a.npy") + len("a.npy") + int.from_bytes(raw[28:30], "little")
    raw[start] ^= 0b110
    path.write_bytes(raw)
    with pytest.raises(CorruptFileError, match=r"arrays\.npz"):
        read_npz(path)


def test_a_sparse_matrix_is_read_from_its_four_arrays(tmp_path: Path) -> None:
    parts = {"m_data": [5.0, 6], "m_indices": [2, 0], "m_indptr": [0, 1, 2], "m_shape": [2, 3]}
    matrix = sparse_from({key: np.array(value) for key, value in parts.items()}, "m_", tmp_path)
    assert matrix.toarray().tolist() == [[0, 0, 5], [6, 0, 0]]


def test_sparse_from_wants_two_sides(tmp_path: Path) -> None:
    parts = {"m_data": [5.0], "m_indices": [0], "m_indptr": [0, 1], "m_shape": [1, 1, 1]}
    with pytest.raises(DataError, match="m_shape has 3 numbers, expected 2"):
        sparse_from({key: np.array(value) for key, value in parts.items()}, "m_", tmp_path)


def packed(folder: Path, *members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    path = folder / "arrays.npz"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members:
            archive.NameToInfo.clear()  # which would warn of a name that stands twice
            archive.writestr(name, content)
    return path


def array_bytes(array: Any, header: dict[str, Any] | None = None) -> bytes:
    stream = io.BytesIO()
    if header is None:
        np.save(stream, array)
    else:
        np.lib.format.write_array_header_1_0(stream, header)
        stream.write(np.asarray(array).tobytes())
    return stream.getvalue()


def test_two_entries_of_one_name_are_ambiguous(tmp_path: Path) -> None:
    path = packed(tmp_path, ("a.npy", array_bytes(np.ones(2))), ("a.npy", array_bytes(np.zeros(2))))
    with pytest.raises(CorruptFileError, match=r"arrays\.npz: holds two entries called 'a\.npy'"):
        npz_keys(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_x15_compression_that_expands_all_at_once_is_refused(tmp_path: Path, method: int) -> None:
    path = packed(tmp_path, ("a.npy", array_bytes(np.zeros(2))), method=method)
    with pytest.raises(DataError, match=r"arrays\.npz: a\.npy is compressed in a way that numpy does not use"):
        read_npz(path)


@pytest.mark.parametrize(
    ("kind", "shape"), [("<f8", (1,)), ("<f8", ()), ("|S0", (10**12,)), ("<f8", (0, 5)), ("<f4", (2,))]
)
def test_a_header_that_leaves_data_over_or_counts_nothing_is_refused(
    tmp_path: Path, kind: str, shape: tuple[int, ...]
) -> None:
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    path = packed(tmp_path, ("a.npy", array_bytes(np.zeros(2), header)))
    with pytest.raises(DataError, match=r"a\.npy claims \d+ bytes for the shape .*, the file holds 16"):
        read_npz(path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"m_shape": [2.0, 3.0]}, "m_shape has 2 numbers, expected 2 whole ones, got float64"),
        ({"m_shape": [2, 10**9]}, "1,000,000,000 columns, more than the 10,000,000"),
        ({"m_data": [[5.0, 6.0]]}, r"m_data must be a row of numbers, got the shape \(1, 2\)"),
        ({"m_indptr": [[0, 1, 2]]}, "m_indptr must be a row of numbers"),
    ],
)
def test_arrays_of_another_form_are_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    parts = {"m_data": [5.0, 6], "m_indices": [2, 0], "m_indptr": [0, 1, 2], "m_shape": [2, 3], **changes}
    with pytest.raises(DataError, match=words):
        sparse_from({key: np.array(value) for key, value in parts.items()}, "m_", tmp_path)


@pytest.mark.parametrize("kind", ["<f2", ">f4", ">f8", ">i2"])
def test_numbers_that_scipy_does_not_know_are_the_same_numbers(tmp_path: Path, kind: str) -> None:
    parts = {"data": np.array([5.0, 6], kind), "indices": np.array([2, 0], ">i4"), "indptr": np.array([0, 1, 2], ">i8")}
    matrix = sparse_from({**parts, "shape": np.array([2, 3], ">i8")}, "", tmp_path)
    assert matrix.toarray().tolist() == [[0, 0, 5], [6, 0, 0]]


def test_many_and_long_names_of_arrays_are_shortened(tmp_path: Path) -> None:
    path = packed(tmp_path, *((f"{'x' * 500}{number}.npy", b"") for number in range(50)))
    with pytest.raises(DataError, match=r"has no array a; found x{40}.*and 40 more") as raised:
        read_npz(path, ["a"])
    assert len(str(raised.value)) < 1000


NUMBERS = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.mark.parametrize("array", [NUMBERS, np.asfortranarray(NUMBERS), NUMBERS.astype(">f8"), NUMBERS[:0]])
def test_what_numpy_saves_is_mapped_as_it_is(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    assert np.array_equal(map_npy(tmp_path / "x.npy"), array)
    assert np.array_equal(read_npy(tmp_path / "x.npy"), array)
    assert npy_shape(tmp_path / "x.npy") == array.shape


def test_writing_to_a_mapped_array_does_not_change_the_file(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", NUMBERS)
    before = (tmp_path / "x.npy").read_bytes()
    mapped = map_npy(tmp_path / "x.npy", "c")
    mapped[0] = 7
    mapped.flush()  # type: ignore[attr-defined]
    assert (tmp_path / "x.npy").read_bytes() == before


@pytest.mark.parametrize("cuts", [[], [0], [1, 1, 3], [4]])
def test_an_array_that_grows_is_the_one_that_is_saved_at_once(tmp_path: Path, cuts: list[int]) -> None:
    with npy_writer(tmp_path / "x.npy", np.float32, (3,)) as append:
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


def test_object_arrays_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}, print]), allow_pickle=True)
    with pytest.raises(UnsafeFileError, match="object array"):
        map_npy(tmp_path / "x.npy")


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_text("source,target\n")
    with pytest.raises(CorruptFileError, match=r"not a readable \.npy file"):
        map_npy(tmp_path / "x.npy")


def test_a_full_disk_is_reported_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"x\.npy") as caught, npy_writer(tmp_path / "x.npy", np.float32):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("order", ["<", ">"])
def test_texts_with_numbers_that_are_no_characters_are_corrupt(tmp_path: Path, order: str) -> None:
    array = np.array([["ab", "c"]], dtype=f"{order}U2")
    np.savez(tmp_path / "sound.npz", names=array)
    assert read_npz(tmp_path / "sound.npz")["names"].tolist() == [["ab", "c"]]
    array.view(f"{order}u4")[0, 1] = 0x110000
    np.savez(tmp_path / "texts.npz", names=array)
    np.save(tmp_path / "texts.npy", array)
    with pytest.raises(CorruptFileError, match=r"texts\.npz: names\.npy holds 1114112, which is no character"):
        read_npz(tmp_path / "texts.npz")
    with pytest.raises(CorruptFileError, match=r"texts\.npy: holds 1114112, which is no character"):
        read_npy(tmp_path / "texts.npy")
