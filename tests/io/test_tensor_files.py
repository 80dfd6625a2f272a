"""Every flipped byte, truncation, other schema or foreign content of saved tensors is noticed."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from confgcn.exceptions import CorruptFileError, UnsafeFileError
from confgcn.io.checksums import digest
from confgcn.io.json_files import write_checksummed_json
from confgcn.io.tensor_files import DTYPES, read_tensors, safetensors_blocks, write_tensors


@pytest.fixture
def stem(tmp_path: Path) -> Path:
    write_tensors(tmp_path / "model", {"w": torch.arange(100.0)}, {"epoch": 3})
    return tmp_path / "model"


def test_tensors_are_read_as_they_were_written(stem: Path) -> None:
    tensors, record = read_tensors(stem)
    assert torch.equal(tensors["w"], torch.arange(100.0))
    assert record["epoch"] == 3


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_one_flipped_bit_is_refused_by_name(stem: Path, suffix: str) -> None:
    path = stem.with_suffix(suffix)
    content = bytearray(path.read_bytes())
    for place in range(0, len(content), 17):
        damaged = content.copy()
        damaged[place] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(CorruptFileError, match=path.name):
            read_tensors(stem)


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_refused(stem: Path, suffix: str, share: float) -> None:
    path = stem.with_suffix(suffix)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(CorruptFileError, match="corrupt"):
        read_tensors(stem)


def test_another_schema_names_both_versions(stem: Path) -> None:
    path = stem.with_suffix(".json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    with pytest.raises(CorruptFileError, match=r"schema 99.*reads 1"):
        read_tensors(stem)


class Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("suffix", [".safetensors", ".json"])
def test_a_pickle_in_place_of_a_file_is_never_executed(stem: Path, suffix: str) -> None:
    canary = stem.parent / "canary"
    stem.with_suffix(suffix).write_bytes(pickle.dumps(Canary(canary)))
    with pytest.raises(UnsafeFileError):
        read_tensors(stem)
    assert not canary.exists()


def test_too_little_memory_for_saving_is_an_error_that_can_be_caught(tmp_path: Path) -> None:
    huge = torch.empty(1).expand(2**55)  # takes no memory itself
    with pytest.raises(MemoryError, match=r"\d+ bytes"):
        write_tensors(tmp_path / "model", {"huge": huge}, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_a_number_that_no_file_of_ours_holds_fits_no_checksum(stem: Path, number: str) -> None:
    path = stem.with_suffix(".json")
    path.write_text(path.read_text().replace('"epoch": 3', f'"epoch": {number}'))
    with pytest.raises(CorruptFileError, match="its checksum does not match"):
        read_tensors(stem)


def test_neither_a_schema_nor_tensors_make_a_long_message(stem: Path) -> None:
    path, tensors = stem.with_suffix(".json"), stem.with_suffix(".safetensors")
    record = json.loads(path.read_text())
    header = json.dumps({"x" * 5000: {"dtype": "y" * 5000, "shape": [], "data_offsets": [0, 0]}}).encode()
    tensors.write_bytes(len(header).to_bytes(8, "little") + header)
    write_checksummed_json(path, {"tensors_sha256": digest(tensors.read_bytes())})
    with pytest.raises(CorruptFileError, match=r"model\.safetensors: corrupt \(") as raised:
        read_tensors(stem)
    assert len(str(raised.value)) < 500
    path.write_text(json.dumps({**record, "schema": "x" * 5000}))
    with pytest.raises(CorruptFileError, match=r"model\.json: schema 'x{199}\.\.\.") as raised:
        read_tensors(stem)
    assert len(str(raised.value)) < 500


def test_the_bytes_are_those_of_the_library() -> None:
    tensors = {f"{kind}/{size}": torch.ones(size).to(kind) for kind in reversed(DTYPES) for size in (3, 0, 8)}
    tensors |= {"one": torch.tensor(3.0), "wide.ü": torch.randn(2, 3, 4), "a": torch.nn.Parameter(torch.randn(3, 5))}
    assert b"".join(safetensors_blocks(tensors)) == save(tensors)
    assert b"".join(safetensors_blocks({})) == save({})


@pytest.mark.parametrize("length", range(9))
def test_the_header_is_filled_up(length: int) -> None:
    tensors = {"n" * (length + 1): torch.arange(3.0)}
    assert b"".join(safetensors_blocks(tensors)) == save(tensors)


def test_a_tensor_that_is_not_contiguous_is_written_by_rows() -> None:
    turned = torch.arange(6.0).view(2, 3).T
    assert torch.equal(load(b"".join(safetensors_blocks({"turned": turned})))["turned"], turned)


def test_no_tensor_is_copied() -> None:
    tensor = torch.arange(4.0)
    _, block = safetensors_blocks({"x": tensor})
    tensor[0] = 7.0
    assert np.frombuffer(block, np.float32)[0] == 7.0
