"""A device is accepted if torch knows it and this machine has it."""

from __future__ import annotations

import pytest
import torch

from confgcn.exceptions import ResourceError, UsageError
from confgcn.io.device import CPU, available_device


@pytest.mark.parametrize("name", ["cpu", "cpu:0"])
def test_the_cpu_is_always_available(name: str) -> None:
    assert available_device(name) == CPU


@pytest.mark.parametrize("name", ["gpu", "", "cuda:x", 3.5])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not a device of torch; expected cpu, cuda"):
        available_device(name)


def test_a_device_without_numbers_is_refused() -> None:
    with pytest.raises(UsageError, match="has no memory"):
        available_device("meta")


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has the device")
def test_a_device_that_is_not_there_is_named_with_what_to_do() -> None:
    with pytest.raises(ResourceError, match=r"device = 'cuda': not available here \(.*\); use the cpu"):
        available_device("cuda")
