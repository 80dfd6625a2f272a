from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import confgcn.ops


def test_what_is_found_is_a_value(check_values: Callable[[ModuleType], None]) -> None:
    check_values(confgcn.ops)
