"""Tensors in the format of safetensors, tensor by tensor: the library's own writer copies all of them first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

Block = bytes | memoryview

ALIGNMENT = 8  # of the first tensor: the header is filled up with spaces
# The format's names, in the order in which the library puts tensors: the widest numbers first.
KINDS = {
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


def safetensors_blocks(tensors: Mapping[str, Tensor]) -> Iterator[Block]:
    """The same bytes as ``safetensors.torch.save`` gives; the memory of the tensors themselves is handed out."""
    order = list(KINDS)
    names = sorted(tensors, key=lambda name: (order.index(tensors[name].dtype), name))
    yield _header({name: tensors[name] for name in names})
    for name in names:
        yield tensors[name].detach().contiguous().view(-1).view(torch.uint8).numpy().data


def _header(tensors: Mapping[str, Tensor]) -> bytes:
    """The length of the text that follows, in eight bytes, and which tensor is where."""
    entries, start = {}, 0
    for name, tensor in tensors.items():
        place = [start, start + tensor.nbytes]
        entries[name] = {"dtype": KINDS[tensor.dtype], "shape": list(tensor.shape), "data_offsets": place}
        start = place[1]
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(8, "little") + text
