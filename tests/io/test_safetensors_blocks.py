"""The bytes are those of the safetensors library, without its copies."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import load, save

from confgcn.io.safetensors_blocks import KINDS, safetensors_blocks


def test_the_bytes_are_those_of_the_library() -> None:
    tensors = {f"{kind}/{size}": torch.ones(size).to(kind) for kind in reversed(KINDS) for size in (3, 0, 8)}
    tensors |= {"one": torch.tensor(3.0), "wide.ü": torch.randn(2, 3, 4), "a": torch.nn.Parameter(torch.randn(3, 5))}
    assert b"".join(safetensors_blocks(tensors)) == save(tensors)
    assert b"".join(safetensors_blocks({})) == save({})


@pytest.mark.parametrize("length", range(9))
def test_the_header_is_filled_up(length: int) -> None:
    tensors = {"n" * (length + 1): torch.arange(3.0)}
    assert b"".join(safetensors_blocks(tensors)) == save(tensors)


def test_what_does_not_lie_in_a_row_is_put_in_one() -> None:
    turned = torch.arange(6.0).view(2, 3).T
    assert torch.equal(load(b"".join(safetensors_blocks({"turned": turned})))["turned"], turned)


def test_no_tensor_is_copied() -> None:
    tensor = torch.arange(4.0)
    _, block = safetensors_blocks({"x": tensor})
    tensor[0] = 7.0
    assert np.frombuffer(block, np.float32)[0] == 7.0
