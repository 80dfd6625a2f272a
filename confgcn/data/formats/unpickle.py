"""Read old pickles as data: no global of the file is ever imported or called.

The planetoid files are Python 2 pickles of numpy arrays, scipy matrices and dictionaries. They name six globals;
each, under its old and its present name, has a passive record for a stand-in, which is turned into an array after
reading. Everything else is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from confgcn.data.formats.pickle_stack import StandIns, read_values
from confgcn.exceptions import CorruptFileError, DataError, UnsafeFileError
from confgcn.graph import checks

MAX_FILE_BYTES = 256 * 2**20
NUMBER_KINDS = "biuf"


class _DtypeRecord:
    """Stands for numpy.dtype: remembers its code and byte order."""

    def __init__(self, code: Any = "", *_: Any) -> None:
        self.code = code
        self.byte_order = "="

    def fill(self, state: Any) -> None:
        self.byte_order = state[1]

    def dtype(self) -> np.dtype[Any]:
        if not isinstance(self.code, str):
            raise ValueError("the type of an array is no text")
        dtype: np.dtype[Any] = np.dtype(self.code)
        if self.byte_order == ">":
            dtype = dtype.newbyteorder(">")
        if dtype.kind not in NUMBER_KINDS:
            raise UnsafeFileError(f"refused an array of {dtype}: only numbers can be read safely")
        return dtype


class _ArrayRecord:
    """Stands for numpy.ndarray: remembers shape, type and bytes."""

    def __init__(self, *_: Any) -> None:
        self.state: Any = None

    def fill(self, state: Any) -> None:
        self.state = state

    def array(self) -> npt.NDArray[Any]:
        _, shape, dtype, column_major, raw = self.state
        data = raw.encode("latin1") if isinstance(raw, str) else raw
        flat: npt.NDArray[Any] = np.frombuffer(data, dtype=dtype.dtype())
        return np.reshape(flat, shape, order="F" if column_major else "C")


class _MatrixRecord:
    """Stands for scipy.sparse.csr_matrix: remembers its attributes."""

    def __init__(self, *_: Any) -> None:
        self.state: Any = None

    def fill(self, state: Any) -> None:
        self.state = state

    def matrix(self) -> sp.csr_matrix:
        parts = [self.state[key].array() for key in ("data", "indices", "indptr")]
        shape = tuple(int(side) for side in self.state["_shape"])
        checks.check_csr("matrix", parts[2], parts[1], parts[0], shape)
        return sp.csr_matrix(tuple(parts), shape=shape)


def _empty_dictionary(*_: Any) -> dict[Any, Any]:
    return {}


def _empty_list(*_: Any) -> list[Any]:
    return []


_STAND_INS: StandIns = {
    ("numpy", "ndarray"): _ArrayRecord,
    ("numpy", "dtype"): _DtypeRecord,
    ("numpy.core.multiarray", "_reconstruct"): _ArrayRecord,
    ("numpy._core.multiarray", "_reconstruct"): _ArrayRecord,
    ("scipy.sparse.csr", "csr_matrix"): _MatrixRecord,
    ("scipy.sparse._csr", "csr_matrix"): _MatrixRecord,
    ("collections", "defaultdict"): _empty_dictionary,
    ("__builtin__", "list"): _empty_list,
    ("builtins", "list"): _empty_list,
}


def read_pickle(path: Path) -> Any:
    """The array, matrix or dictionary of lists in a pickle file."""
    content = read_capped(path)
    try:
        return _resolve(read_values(content, _STAND_INS))
    except UnsafeFileError as error:
        raise UnsafeFileError(f"{path}: {error}") from None
    except MemoryError:
        raise DataError(f"{path}: claims more memory than there is") from None
    except Exception as error:  # a damaged pickle can raise anything at all
        raise CorruptFileError(f"{path}: not a readable planetoid file ({error})") from None


def read_capped(path: Path) -> bytes:
    """What a planetoid file holds."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise DataError(f"{path}: larger than {MAX_FILE_BYTES} bytes, which no planetoid file is")
    return path.read_bytes()


def _resolve(value: Any) -> Any:
    if isinstance(value, _ArrayRecord):
        return value.array()
    if isinstance(value, _MatrixRecord):
        return value.matrix()
    if isinstance(value, dict):
        return value
    raise DataError(f"expected an array, a sparse matrix or a dictionary, got {type(value).__name__}")
