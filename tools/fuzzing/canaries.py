"""Files whose loading as Python objects would leave a trace: a folder called ``canary`` in the working folder."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from functools import cache
from typing import Any

import numpy as np
import torch

CANARY = "canary"
PROTOCOLS = (0, 2, 4, 5)
NEEDED = ("features", "ids", "confgcn_graph", "edges", "adj_data", "adj_matrix.data", "labels", "data")


class _Bird:
    """Unpickled, it makes the folder."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (CANARY,)


@cache
def canaries() -> dict[str, bytes]:
    """By kind: pickles of every protocol in use, what torch writes, and arrays of objects."""
    return {
        **{f"pickle{protocol}": pickle.dumps(_Bird(), protocol) for protocol in PROTOCOLS},
        "torch": _torch_archive(),
        "npy": _array_of_objects(),
        "npz": _archive_of_objects(),
    }


def _torch_archive() -> bytes:
    stream = io.BytesIO()
    torch.save(_Bird(), stream)
    return stream.getvalue()


def _array_of_objects() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([_Bird()], dtype=object), allow_pickle=True)
    return stream.getvalue()


def _archive_of_objects() -> bytes:
    """Under every name that some reader loads."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in NEEDED:
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), _array_of_objects())
    return stream.getvalue()
