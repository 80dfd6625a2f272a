"""The estimate of memory counts every copy of every parameter, and needs none itself."""

from __future__ import annotations

import pytest
import torch

from confgcn.exceptions import ResourceError
from confgcn.graph import Graph
from confgcn.method import Shape
from confgcn.model.network import ConfGCN
from confgcn.training import memory


def test_a_method_that_does_not_fit_is_refused_with_both_numbers(
    six_nodes: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with torch.device("meta"):
        method = ConfGCN(Shape.of(six_nodes), hidden_dim=10**6, num_layers=3)
    needed = 5 * 4 * sum(p.numel() for p in method.parameters())
    monkeypatch.setattr(memory, "available_memory", lambda: needed)
    memory.check_memory(method)
    monkeypatch.setattr(memory, "available_memory", lambda: needed - 1)
    with pytest.raises(ResourceError, match=f"{needed:,} bytes, {needed - 1:,} are available"):
        memory.check_memory(method)


def test_available_memory_is_a_plausible_number() -> None:
    assert 10**6 < memory.available_memory() < 10**15
