"""Which values the named ranges accept."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from confgcn.models import ranges

BOUNDS = [
    (ranges.Count, [1, 1_000_000], [0, 1_000_001]),
    (ranges.Width, [1, 65_536], [0, 65_537]),
    (ranges.Depth, [1, 1_000], [0, 1_001]),
    (ranges.WholeNumber, [0, 1_000_000], [-1, 1_000_001]),
    (ranges.DropoutRate, [0.0, 0.99], [-0.1, 1.0]),
    (ranges.Positive, [1e-9, 1e9], [0.0, -1.0]),
    (ranges.LearningRate, [1e-9, 1e6], [0.0, 2e6]),
    (ranges.NonNegative, [0.0, 1e9], [-1e-9]),
    (ranges.Share, [0.0, 1.0], [-0.1, 1.1]),
    (ranges.InnerShare, [0.1, 0.9], [0.0, 1.0]),
]


@pytest.mark.parametrize(("annotation", "accepted", "refused"), BOUNDS)
def test_bounds(annotation: Any, accepted: list[float], refused: list[float]) -> None:
    adapter = TypeAdapter(annotation)
    for value in accepted:
        assert adapter.validate_python(value, strict=True) == value
    for value in [*refused, float("nan"), float("inf")]:
        with pytest.raises(ValidationError):
            adapter.validate_python(value, strict=True)
