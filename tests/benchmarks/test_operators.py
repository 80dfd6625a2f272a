"""The benchmark compares operators with plain torch that computes the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch


def test_every_operator_equals_its_plain_version(
    script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    module = script("benchmarks/operators.py")
    inputs = module.Inputs.of(200)
    for name, (ours, plain) in module.OPERATORS.items():
        if "dropout" not in name:  # whose masks are drawn differently
            torch.testing.assert_close(ours(inputs), plain(inputs), rtol=1e-4, atol=1e-5)
