"""No pickle can run anything: what is not a number array, a sparse matrix or a dictionary is refused."""

from __future__ import annotations

import builtins
import os
import pickle
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from confgcn.data.formats import planetoid_pickle
from confgcn.data.formats.planetoid_pickle import read_pickle
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError

SHARED = ["a", 1]
PLAIN_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 255, 70_000, 2**40, -(2**70), 10**400, 0.5, -1e308, "", "text", "é\n", "x" * 300),
    *((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1], list(range(2000)), {}, {"a": 1, 2: [3]}),
    [SHARED, SHARED, {"again": SHARED}],
    {number: [number] for number in range(1500)},
]
READABLE_PROTOCOL = 3  # the lowest in which Python 3 writes bytes without a global


class Reduced:
    """Pickles as whatever ``__reduce__`` value it is given."""

    def __init__(self, *reduction: Any) -> None:
        self.reduction = reduction

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduction


def written(folder: Path, value: Any, protocol: int = READABLE_PROTOCOL) -> Path:
    path = folder / "ind.tiny.x"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


PAYLOADS: list[tuple[Callable[..., Any], Callable[[Path], Any], str]] = [
    (os.system, lambda canary: f"touch '{canary}'", f"{os.system.__module__}.system"),
    (subprocess.call, lambda canary: ["touch", str(canary)], "subprocess.call"),
    (builtins.eval, lambda canary: f"open({str(canary)!r}, 'w').close()", "builtins.eval"),
]


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
@pytest.mark.parametrize(("call", "argument", "name"), PAYLOADS, ids=["system", "subprocess", "eval"])
@pytest.mark.parametrize("wrap", [lambda payload: payload, lambda payload: {0: [payload]}], ids=["bare", "nested"])
def test_a_payload_is_refused_by_name_and_does_not_run(
    tmp_path: Path, wrap: Any, call: Any, argument: Any, name: str, protocol: int
) -> None:
    canary = tmp_path / "canary"
    payload = wrap(Reduced(call, (argument(canary),)))
    path = tmp_path / "ind.tiny.x"
    path.write_bytes(pickle.dumps(payload, protocol=protocol, fix_imports=False))
    pickle.loads(path.read_bytes())  # noqa: S301
    assert canary.exists(), "the payload is not live, so refusing it would prove nothing"
    canary.unlink()
    with pytest.raises(UnsafeFileError, match=f"refused the global {name},") as caught:
        read_pickle(path)
    assert str(path) in str(caught.value)
    assert not canary.exists()


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"cnumpy\nfromfile\n.", "numpy.fromfile"),
        (b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.", "numpy.ndarray.tofile"),
        (b"cscipy.sparse._csr\ncsr_array\n.", "scipy.sparse._csr.csr_array"),
        (b"ccollections\nCounter\n.", "collections.Counter"),
    ],
)
def test_neighbours_of_the_allowed_globals_are_refused(tmp_path: Path, raw: bytes, name: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(raw)
    with pytest.raises(UnsafeFileError, match=f"refused the global {name},"):
        read_pickle(path)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(np.array([1, None]), "object"), (np.array(["a"]), "<U1"), (np.zeros(1, "datetime64[s]"), "datetime64")],
)
def test_arrays_of_anything_but_numbers_are_refused(tmp_path: Path, value: Any, kind: str) -> None:
    with pytest.raises(UnsafeFileError, match=f"refused an array of {kind}:"):
        read_pickle(written(tmp_path, value))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6).astype(">f4"),
        np.array([True, False]),
        np.empty((0, 4)),
    ],
    ids=["rows", "columns", "big-endian", "bool", "empty"],
)
@pytest.mark.parametrize("protocol", [3, 4])
def test_number_arrays_come_back_unchanged(tmp_path: Path, array: Any, protocol: int) -> None:
    found = read_pickle(written(tmp_path, array, protocol))
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_sparse_matrices_come_back_unchanged(tmp_path: Path) -> None:
    found = read_pickle(written(tmp_path, sp.csr_matrix([[0, 1.5, 0], [2, 0, 3]])))
    assert found.toarray().tolist() == [[0, 1.5, 0], [2, 0, 3]]


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_dictionaries_of_lists_come_back_unchanged(tmp_path: Path, protocol: int) -> None:
    neighbours = {0: [1, 2], 1: [0], 2: [0, 2]}
    assert read_pickle(written(tmp_path, defaultdict(list, neighbours), protocol)) == neighbours


@pytest.mark.parametrize("value", [sp.csr_matrix(np.eye(2)), np.arange(3), {0: [1], 1: [0]}])
def test_every_truncation_is_a_corrupt_file(tmp_path: Path, value: Any) -> None:
    path = written(tmp_path, value)
    raw = path.read_bytes()
    for length in range(len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(CorruptFileError, match="not a readable planetoid file"):
            read_pickle(path)


def test_columns_out_of_bounds_are_a_corrupt_file(tmp_path: Path) -> None:
    matrix = sp.csr_matrix(np.eye(2))
    matrix.indices[1] = 10**6
    with pytest.raises(CorruptFileError, match=r"0 to 1, got 0 to 1000000"):
        read_pickle(written(tmp_path, matrix))


def test_a_shape_larger_than_the_data_is_a_corrupt_file(tmp_path: Path) -> None:
    reconstruct, arguments, state = np.zeros(1).__reduce__()
    claimed = Reduced(reconstruct, arguments, (state[0], (10**13,), *state[2:]))
    with pytest.raises(CorruptFileError, match="10000000000000"):
        read_pickle(written(tmp_path, claimed))


@pytest.mark.parametrize("value", [[1, 2], "text", 3, None])
def test_other_values_are_not_planetoid_files(tmp_path: Path, value: Any) -> None:
    with pytest.raises(DataError, match=f"expected an array.*got {type(value).__name__}"):
        read_pickle(written(tmp_path, value))


def test_a_file_over_the_cap_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, {0: [1]})
    size = path.stat().st_size
    monkeypatch.setattr(planetoid_pickle, "MAX_FILE_BYTES", size)
    assert read_pickle(path) == {0: [1]}
    monkeypatch.setattr(planetoid_pickle, "MAX_FILE_BYTES", size - 1)
    with pytest.raises(DataError, match=f"larger than {size - 1} bytes") as caught:
        read_pickle(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("code", [7, None, ["f8"], ("f8",), b"f8"])
def test_the_dtype_of_an_array_is_a_string(tmp_path: Path, code: Any) -> None:
    claimed = Reduced(np.dtype, (code, False, True))
    reconstruct, arguments, state = np.zeros(1).__reduce__()
    path = written(tmp_path, Reduced(reconstruct, arguments, (*state[:2], claimed, *state[3:])))
    with pytest.raises(CorruptFileError, match="the dtype of an array must be a string"):
        read_pickle(path)


def loaded(path: Path, content: bytes) -> Any:
    path.write_bytes(content)
    return read_pickle(path)


def dictionary_with(value: bytes) -> bytes:
    """A pickle of ``{0: value}``."""
    return b"}K\x00" + value + b"s."


@pytest.mark.parametrize("protocol", range(6))
def test_plain_values_are_read_as_pickle_reads_them(tmp_path: Path, protocol: int) -> None:
    for value in PLAIN_VALUES:
        assert read_pickle(written(tmp_path, {0: value}, protocol)) == {0: value}


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"U\x03a\xe9b", "a\xe9b"),
        (b"T\x03\x00\x00\x00abc", "abc"),
        (b"S'a\\x41'\n", "aA"),
        (b"C\x02\x00\xff", b"\x00\xff"),
    ],
)
def test_bytes_and_strings_of_python_2_are_read(tmp_path: Path, raw: bytes, value: Any) -> None:
    assert loaded(tmp_path / "file", dictionary_with(raw)) == {0: value}


def test_what_is_shared_stays_shared(tmp_path: Path) -> None:
    first, second = read_pickle(written(tmp_path, {0: SHARED, 1: SHARED})).values()
    assert first is second


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"(S'x'\nios\nsystem\n.", "global os.system"),
        (b"(cnumpy\ndtype\no.", "instruction OBJ"),
        (b"Pid\n.", "instruction PERSID"),
        (b"\x82\x01.", "instruction EXT1"),
        (b"\x80\x05\x97.", "instruction NEXT_BUFFER"),
        (b"\x80\x05\x96\x01\x00\x00\x00\x00\x00\x00\x00a.", "instruction BYTEARRAY8"),
        (b"\x80\x04\x8f.", "instruction EMPTY_SET"),
        (b"\x80\x04)\x91.", "instruction FROZENSET"),
        (b"N2.", "instruction DUP"),
        (b"cnumpy.dtype\ndtype\n.", "global numpy.dtype.dtype"),
        (b"cbuiltins\ngetattr\n.", "global builtins.getattr"),
    ],
)
def test_other_instructions_and_names_are_refused_by_name(tmp_path: Path, content: bytes, name: str) -> None:
    with pytest.raises(UnsafeFileError, match=rf"file: refused the {name}, which no planetoid file needs"):
        loaded(tmp_path / "file", content)


def test_a_refusal_is_short(tmp_path: Path) -> None:
    with pytest.raises(UnsafeFileError) as raised:
        loaded(tmp_path / "file", b"c" + b"m" * 100_000 + b"\nb\n.")
    assert len(str(raised.value)) < 400 + len(str(tmp_path))


@pytest.mark.parametrize(
    "content",
    [
        *(b"I1\nI2\na.", b"]I1\nI2\ns.", b"}(I1\nI2\ntI3\ns.", b"(I1\n(I2\ntI3\nd.", b"}K\x00(h\x05ts."),
        *(b"cnumpy\ndtype\n}b.", b"cnumpy\ndtype\nN}S'__init__'\nK\x05s\x86b.", b"]}b.", b"cnumpy\ndtype\nI1\nR."),
        *(
            b"I1\n(tR.",
            b"]tR.",
            b"I1\n(\x86.",
            b"\x80\x04\x8c\x01aI1\n\x93.",
            b"h\x05.",
            b"t.",
            b".",
            b"I1\n",
            b"",
            b"\xff.",
        ),
        *(
            b"cnumpy\ndtype\n.",
            b"cnumpy\ndtype\n)\x81.",
            b"cnumpy\nndarray\n)R.",
            b"cscipy.sparse._csr\ncsr_matrix\n)\x81}b.",
        ),
    ],
)
def test_a_damaged_pickle_is_an_error_and_no_value(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CorruptFileError, match="not a readable planetoid file"):
        loaded(tmp_path / "file", content)


def test_a_record_cannot_be_changed_by_a_file(tmp_path: Path) -> None:
    for record in planetoid_pickle.RECORDS.values():
        assert "__setstate__" in dir(record), "without it BUILD would set attributes of the class itself"


def test_the_memo_takes_no_memory_for_the_places_that_a_file_skips(tmp_path: Path) -> None:
    """The C implementation of pickle allocates 4 GB for these bytes."""
    assert loaded(tmp_path / "file", b"}r\xff\xff\xff\x0f.") == {}


@pytest.mark.parametrize("key", [")" + "q\x00h\x00\x86" * 50, "L2305843009213693951L\n"], ids=["pairs", "equal hashes"])
@pytest.mark.parametrize("form", ["}%sI1\ns.", "}(%sI1\nu.", "(%sI1\nd."], ids=["SETITEM", "SETITEMS", "DICT"])
def test_keys_that_take_very_long_to_hash_are_refused(tmp_path: Path, key: str, form: str) -> None:
    """Fifty nested pairs, each twice in the next, need two to the fifty steps; many equal hashes need a square."""
    with pytest.raises(CorruptFileError, match="keys are numbers or texts"):
        loaded(tmp_path / "file", (form % key).encode("latin1"))
