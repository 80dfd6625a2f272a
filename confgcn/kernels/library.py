"""The shared library built from ``kernels.cpp``: finding it, and its functions by name and dtype."""

from __future__ import annotations

import ctypes
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import torch

INTERFACE = 3  # of kernels.cpp: a library with another interface is not used

TYPES = {torch.float32: "float32", torch.float64: "float64"}
_KINDS = {"p": ctypes.c_void_p, "i": ctypes.c_int64, "r": ctypes.c_double}

# The arguments of each function of interface.h: p a buffer, i an integer, r a real number.
_ARGUMENTS = {
    "distance": "ipppppipi",
    "distance_gradient": "ipppppipppi",
    "softmax": "ippipi",
    "softmax_gradient": "ipppipi",
    "dense_softmax": "iippi",
    "dense_softmax_gradient": "iipppi",
    "sum_rows": "ippipi",
    "multiply": "ipppppiipi",
    "entry_products": "ippppiipi",
    "drop": "ipiiirpi",
    "all_finite": "ip",
    "adam_step": "ipppprrrrrri",
    "propagation_rows": "iiippppiiiippi",
    "sum_feature_rows": "ipppippiippppi",
}
_WITH_RESULT = ("all_finite", "propagation_rows", "sum_feature_rows")


def available() -> bool:
    """Whether there is a library that can be called."""
    return library() is not None


def why_not() -> str:
    """Why there is no library, and what to do."""
    return "this installation has no compiled kernels: install a C++ compiler, then install confgcn again"


def instructions() -> str:
    """The instruction set in use."""
    opened = library()
    assert opened is not None
    name: bytes = opened.confgcn_instructions()
    return name.decode()


@cache
def library() -> ctypes.CDLL | None:
    """The library, or None where none can be called."""
    here = Path(__file__).parent
    for path in (here / f"_compiled{suffix}" for suffix in EXTENSION_SUFFIXES):
        if path.is_file():
            return _opened(path)
    return None


def _opened(path: Path) -> ctypes.CDLL | None:
    try:
        opened = ctypes.CDLL(str(path))
        if opened.confgcn_interface() != INTERFACE:
            return None
        opened.confgcn_instructions.restype = ctypes.c_char_p
    except (OSError, AttributeError):  # built for another machine, or another library
        return None
    return opened


@cache
def function(name: str, dtype: torch.dtype) -> Any:
    """A function of the library for this dtype."""
    if dtype not in TYPES:
        raise TypeError(f"expected float32 or float64, got {dtype}")
    loaded = getattr(library(), f"confgcn_{name}_{TYPES[dtype]}")
    loaded.argtypes = [_KINDS[kind] for kind in _ARGUMENTS[name]]
    loaded.restype = ctypes.c_int64 if name in _WITH_RESULT else None
    return loaded
