"""The check reads every array: a flipped bit, and numbers that would lead astray, are found by the name of the file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.formats.graph_store import RECORD
from confgcn.data.formats.store_check import check_store
from confgcn.exceptions import CorruptFileError, DataError
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json


def altered(store: Path, name: str, array: Any) -> None:
    """Another array, with a record that says so."""
    np.save(store / f"{name}.npy", array)
    record = read_checksummed_json(store / RECORD)
    digest = hashlib.sha256((store / f"{name}.npy").read_bytes()).hexdigest()
    record["arrays"][name] = {"shape": list(np.shape(array)), "sha256": digest}
    write_checksummed_json(store / RECORD, record)


def test_a_sound_one_passes(store: Path) -> None:
    check_store(store)


@pytest.mark.parametrize("name", ["indices", "features", "labels", "train", "name_bytes"])
def test_a_flipped_bit_is_found_by_the_check(store: Path, name: str) -> None:
    file = store / f"{name}.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptFileError, match=rf"{name}\.npy: corrupt, its checksum"):
        check_store(store)


def flawed(array: Any, *places: int, value: Any) -> Any:
    changed = np.array(array)
    changed[places] = value
    return changed


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("indices", 3, 11),
        ("indices", 3, -1),
        ("indices", 1, 0),
        ("indptr", 4, 0),
        ("indptr", 4, 10**6),
        ("labels", 0, 3),
        ("labels", 0, -2),
        ("train", 0, 11),
        ("train", 0, -1),
        ("features", 5, np.nan),
        ("name_ends", 2, 0),
        ("name_bytes", 0, 0xFF),
    ],
)
def test_numbers_that_would_lead_astray_are_found_though_checksums_match(
    store: Path, name: str, place: int, value: Any
) -> None:
    altered(store, name, flawed(np.load(store / f"{name}.npy"), place, value=value))
    with pytest.raises(DataError, match=rf"{name}\.npy"):
        check_store(store)
