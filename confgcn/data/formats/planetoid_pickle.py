"""Read the pickles of planetoid files: numbers, and nothing that could execute code.

The files are Python 2 pickles of numpy arrays, scipy matrices and a dictionary of lists. No class or function that a
pickle names is imported: the six names that these files need are replaced by passive records, all others are refused.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError, brief
from confgcn.graph import validation as checks

MAX_FILE_BYTES = 256 * 2**20
MAX_KEY = 2**60  # larger integers can be chosen so that all have the same hash
MAX_SHOWN_LENGTH = 200  # of a refused name in a message
NUMBER_KINDS = "biuf"
OPCODES = {
    *("PROTO", "FRAME", "STOP", "MARK", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GET", "BINGET", "LONG_BINGET"),
    *("NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "FLOAT", "BINFLOAT"),
    *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3"),
    *("EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_DICT", "DICT", "SETITEM", "SETITEMS"),
    *("GLOBAL", "STACK_GLOBAL", "INST", "REDUCE", "NEWOBJ", "BUILD"),
}
KEYS_ON_STACK = {"DICT": slice(None, None, 2), "SETITEM": slice(-2, -1), "SETITEMS": slice(None, None, 2)}


def read_pickle(path: Path) -> Any:
    """The array, matrix or dictionary of lists in a pickle file."""
    content = read_limited(path)
    try:
        return _value(_Unpickler(_Content(content), encoding="latin1", fix_imports=False).load())
    except UnsafeFileError as error:
        raise UnsafeFileError(f"{path}: {error}") from None
    except MemoryError:
        raise DataError(f"{path}: claims more memory than there is") from None
    except Exception as error:  # a damaged pickle can raise any exception
        raise CorruptFileError(f"{path}: not a readable planetoid file ({brief(error)})") from None


def read_limited(path: Path) -> bytes:
    """The content of a planetoid file."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise DataError(f"{path}: larger than {MAX_FILE_BYTES} bytes, which no planetoid file is")
    return path.read_bytes()


class _Record:
    """Replaces an object of a pickle and keeps its arguments and attributes; the class itself accepts no attributes."""

    state: Any = None

    def __init__(self, *arguments: Any) -> None:
        self.arguments = arguments

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _DtypeRecord(_Record):
    def dtype(self) -> np.dtype[Any]:
        code = self.arguments[0]
        if not isinstance(code, str):
            raise ValueError("the dtype of an array must be a string")
        dtype: np.dtype[Any] = np.dtype(code)
        if self.state is not None and self.state[1] == ">":
            dtype = dtype.newbyteorder(">")
        if dtype.kind not in NUMBER_KINDS:
            raise UnsafeFileError(f"refused an array of {dtype}: only numbers can be read safely")
        return dtype


class _ArrayRecord(_Record):
    def array(self) -> npt.NDArray[Any]:
        _, shape, dtype, column_major, raw = self.state
        data = raw.encode("latin1") if isinstance(raw, str) else raw
        flat: npt.NDArray[Any] = np.frombuffer(data, dtype=dtype.dtype())
        return np.reshape(flat, shape, order="F" if column_major else "C")


class _MatrixRecord(_Record):
    def matrix(self) -> sp.csr_matrix:
        data, indices, indptr = (self.state[key].array() for key in ("data", "indices", "indptr"))
        shape = tuple(int(side) for side in self.state["_shape"])
        checks.check_csr("matrix", indptr, indices, data, shape)
        return sp.csr_matrix((data, indices, indptr), shape=shape)


class _EmptyDictionary(_Record):
    def __new__(cls, *_: Any) -> Any:
        return {}


class _EmptyList(_Record):
    def __new__(cls, *_: Any) -> Any:
        return []


RECORDS: dict[tuple[str, str], type[_Record]] = {
    ("numpy", "ndarray"): _ArrayRecord,
    ("numpy", "dtype"): _DtypeRecord,
    ("numpy.core.multiarray", "_reconstruct"): _ArrayRecord,
    ("numpy._core.multiarray", "_reconstruct"): _ArrayRecord,
    ("scipy.sparse.csr", "csr_matrix"): _MatrixRecord,
    ("scipy.sparse._csr", "csr_matrix"): _MatrixRecord,
    ("collections", "defaultdict"): _EmptyDictionary,
    ("__builtin__", "list"): _EmptyList,
    ("builtins", "list"): _EmptyList,
}


class _Content(io.BytesIO):
    """A truncated file is an error, also where the unpickler accepts fewer bytes."""

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if size is not None and len(data) < size:
            raise EOFError(f"expected {size} more bytes, found {len(data)}")
        return data

    def readline(self, size: int | None = -1, /) -> bytes:
        line = super().readline(size)
        if not line.endswith(b"\n"):
            raise EOFError("the last line is incomplete")
        return line


class _Instructions(dict[int, Callable[[Any], None]]):
    """The allowed ones, by opcode."""

    def __missing__(self, code: int) -> Any:
        name = next((op.name for op in pickletools.opcodes if op.code == chr(code)), None)
        if name is None:
            raise ValueError(f"there is no pickle instruction {code}")
        raise _refused("instruction", name)


def _instruction(name: str, code: int) -> Callable[[Any], None]:
    load: Callable[[Any], None] = pickle._Unpickler.dispatch[code]
    if name not in KEYS_ON_STACK:
        return load

    def load_after_check(unpickler: Any) -> None:
        _check_keys(unpickler.stack[KEYS_ON_STACK[name]])
        load(unpickler)

    return load_after_check


class _Unpickler(pickle._Unpickler):
    """Python's own implementation in Python: seven bytes make the one in C allocate 4 GB for its memo."""

    dispatch = _Instructions(
        {ord(op.code): _instruction(op.name, ord(op.code)) for op in pickletools.opcodes if op.name in OPCODES}
    )

    def find_class(self, module: Any, name: Any) -> type[_Record]:
        if (module, name) not in RECORDS:
            raise _refused("global", f"{module}.{name}")
        return RECORDS[module, name]


def _check_keys(keys: Iterable[Any]) -> None:
    """Only keys of bounded time to hash: a few bytes can nest tuples so that hashing takes practically for ever."""
    for key in keys:
        if not isinstance(key, int | str) or (isinstance(key, int) and abs(key) >= MAX_KEY):
            raise ValueError("expected a dictionary whose keys are numbers or texts")


def _refused(kind: str, name: str) -> UnsafeFileError:
    return UnsafeFileError(f"refused the {kind} {name[:MAX_SHOWN_LENGTH]}, which no planetoid file needs")


def _value(loaded: Any) -> Any:
    if isinstance(loaded, _ArrayRecord):
        return loaded.array()
    if isinstance(loaded, _MatrixRecord):
        return loaded.matrix()
    if isinstance(loaded, dict):
        return loaded
    raise DataError(f"expected an array, a sparse matrix or a dictionary, got {type(loaded).__name__}")
