"""The device that a training computes on."""

from __future__ import annotations

import torch

from confgcn.exceptions import ResourceError, UsageError, brief

CPU = torch.device("cpu")


def available_device(name: str) -> torch.device:
    """The device of this name, such as ``cpu``, ``cuda`` or ``cuda:1``, if it can be used here."""
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise UsageError(f"device = {name!r}: not a device of torch; expected cpu, cuda, cuda:1, mps or xpu") from None
    if device.type == "cpu":
        return CPU
    if device.type == "meta":
        raise UsageError(f"device = {name!r}: has no memory; expected cpu, cuda, cuda:1, mps or xpu")
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        why = brief(str(error).splitlines()[0] if str(error) else type(error).__name__)
        raise ResourceError(
            f"device = {name!r}: not available here ({why}); use the cpu, which is the default"
        ) from None
    return device
