from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import confgcn.confidence


def test_dataclasses_are_immutable_and_tensors_are_not_compared(check_values: Callable[[ModuleType], None]) -> None:
    check_values(confgcn.confidence)
