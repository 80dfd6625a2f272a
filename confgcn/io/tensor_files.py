"""Tensors in safetensors files, each beside a JSON record with its checksum. Nothing in them is executed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from torch import Tensor

from confgcn.exceptions import CorruptFileError, brief
from confgcn.io.atomic_files import Block, write_blocks
from confgcn.io.checksums import digest, refuse_pickle
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.io.memory import require_memory

ALIGNMENT = 8  # of the first tensor: the header is padded with spaces
# The format's names, in the order in which the library writes tensors: the widest numbers first.
DTYPES = {
    torch.int64: "I64",
    torch.float64: "F64",
    torch.float32: "F32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def write_tensors(stem: Path, tensors: dict[str, Tensor], record: dict[str, Any]) -> None:
    """Write ``<stem>.safetensors``, then ``<stem>.json`` with the record and the checksum of the tensors."""
    require_memory(sum(value.nbytes for value in tensors.values() if not value.is_contiguous()), "to save the weights")
    checksum = write_blocks(stem.with_suffix(".safetensors"), safetensors_blocks(tensors))
    write_checksummed_json(stem.with_suffix(".json"), {**record, "tensors_sha256": checksum})


def read_tensors(stem: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`write_tensors` wrote."""
    record = read_checksummed_json(stem.with_suffix(".json"))
    path = stem.with_suffix(".safetensors")
    if not path.is_file():
        raise CorruptFileError(f"{path}: missing, though {stem.name}.json is there")
    content = path.read_bytes()
    if digest(content) != record.pop("tensors_sha256", None):
        refuse_pickle(path, content)
        raise CorruptFileError(f"{path}: corrupt, its checksum does not match")
    try:
        return load_tensors(content), record
    except (SafetensorError, KeyError, RuntimeError, ValueError) as error:
        refuse_pickle(path, content)
        raise CorruptFileError(f"{path}: corrupt ({brief(error)})") from None


def safetensors_blocks(tensors: Mapping[str, Tensor]) -> Iterator[Block]:
    """The bytes of ``safetensors.torch.save``, tensor by tensor and without its copy of all tensors."""
    order = list(DTYPES)
    names = sorted(tensors, key=lambda name: (order.index(tensors[name].dtype), name))
    yield _header({name: tensors[name] for name in names})
    for name in names:
        yield tensors[name].detach().contiguous().view(-1).view(torch.uint8).numpy().data


def _header(tensors: Mapping[str, Tensor]) -> bytes:
    """Eight bytes with the length of the JSON text that follows, which gives the place of every tensor."""
    entries, start = {}, 0
    for name, tensor in tensors.items():
        place = [start, start + tensor.nbytes]
        entries[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": place}
        start = place[1]
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text
