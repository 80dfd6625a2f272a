"""Is there memory for what is about to be trained? Better asked than killed."""

from __future__ import annotations

import os
from pathlib import Path

from torch import nn

from confgcn.exceptions import ResourceError
from confgcn.io.control_groups import memory_left
from confgcn.io.memory_limits import left_by_limits

COPIES = 5  # weights, gradients, two moments of Adam, the best weights so far


def check_memory(method: nn.Module) -> None:
    """Refuse a method whose parameters alone cannot be trained here; it may live on torch's meta device."""
    needed = COPIES * sum(p.numel() * p.element_size() for p in method.parameters())
    available = available_memory()
    if needed > available:
        raise ResourceError(
            f"not enough memory: the weights, their gradients and the optimiser take {needed:,} bytes, "
            f"{available:,} are available; try a smaller hidden_dim or num_layers"
        )


def available_memory() -> int:
    """Bytes this process may still take: what the machine, its container and its own limit leave, the least of them."""
    bounds = [_free_memory(), memory_left(), left_by_limits()]
    return max(0, min(bound for bound in bounds if bound is not None))


def _free_memory() -> int:
    table = Path("/proc/meminfo")  # Linux; elsewhere the memory there is stands for the memory that is free
    if table.is_file():
        for line in table.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
