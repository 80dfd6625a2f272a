"""Read old pickles as data: no global of the file is ever imported or called.

The planetoid files are Python 2 pickles of numpy arrays, scipy matrices and dictionaries. They name six globals;
each, under its old and its present name, is replaced by a passive record that is turned into an array after
reading. Everything else is refused.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn import checks
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError

MAX_FILE_BYTES = 256 * 2**20
NUMBER_KINDS = "biuf"


class _DtypeRecord:
    """Stands for numpy.dtype: remembers its code and byte order."""

    def __init__(self, code: str = "", *_: Any) -> None:
        self.code = code
        self.byte_order = "="

    def __setstate__(self, state: Any) -> None:
        self.byte_order = state[1]

    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = np.dtype(str(self.code))
        if self.byte_order == ">":
            dtype = dtype.newbyteorder(">")
        if dtype.kind not in NUMBER_KINDS:
            raise UnsafeFileError(f"refused an array of {dtype}: only numbers can be read safely")
        return dtype


class _ArrayRecord:
    """Stands for numpy.ndarray: remembers shape, type and bytes."""

    state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def array(self) -> npt.NDArray[Any]:
        _, shape, dtype, column_major, raw = self.state
        data = raw.encode("latin1") if isinstance(raw, str) else raw
        flat: npt.NDArray[Any] = np.frombuffer(data, dtype=dtype.dtype())
        return np.reshape(flat, shape, order="F" if column_major else "C")


class _MatrixRecord:
    """Stands for scipy.sparse.csr_matrix: remembers its attributes."""

    def matrix(self) -> sp.csr_matrix:
        state = self.__dict__
        parts = [state[key].array() for key in ("data", "indices", "indptr")]
        shape = tuple(int(side) for side in state["_shape"])
        checks.check_csr("matrix", parts[2], parts[1], parts[0], shape)
        return sp.csr_matrix(tuple(parts), shape=shape)


def _array_record(*_: Any) -> _ArrayRecord:
    return _ArrayRecord()


def _empty_dictionary(*_: Any) -> dict[Any, Any]:
    return {}


def _empty_list(*_: Any) -> list[Any]:
    return []


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _ArrayRecord,
    ("numpy", "dtype"): _DtypeRecord,
    ("numpy.core.multiarray", "_reconstruct"): _array_record,
    ("numpy._core.multiarray", "_reconstruct"): _array_record,
    ("scipy.sparse.csr", "csr_matrix"): _MatrixRecord,
    ("scipy.sparse._csr", "csr_matrix"): _MatrixRecord,
    ("collections", "defaultdict"): _empty_dictionary,
    ("__builtin__", "list"): _empty_list,
    ("builtins", "list"): _empty_list,
}


class _RecordingUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise UnsafeFileError(f"refused the global {module}.{name}: a data file has no use for it")
        return _ALLOWED[module, name]


def read_pickle(path: Path) -> Any:
    """The array, matrix or dictionary of lists in a pickle file."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise DataError(f"{path}: larger than {MAX_FILE_BYTES} bytes, which no planetoid file is")
    content = io.BytesIO(path.read_bytes())
    try:
        return _resolve(_RecordingUnpickler(content, encoding="latin1").load())
    except UnsafeFileError as error:
        raise UnsafeFileError(f"{path}: {error}") from None
    except MemoryError:
        raise DataError(f"{path}: claims more memory than there is") from None
    except Exception as error:  # a damaged pickle can raise anything at all
        raise CorruptFileError(f"{path}: not a readable planetoid file ({error})") from None


def _resolve(value: Any) -> Any:
    if isinstance(value, _ArrayRecord):
        return value.array()
    if isinstance(value, _MatrixRecord):
        return value.matrix()
    if isinstance(value, dict):
        return value
    raise DataError(f"expected an array, a sparse matrix or a dictionary, got {type(value).__name__}")
