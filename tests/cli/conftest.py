"""What tests of real processes share."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """Wait for something another process does; not for ever."""

    def wait(condition: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "what the test waits for did not happen"
            time.sleep(0.02)

    return wait
