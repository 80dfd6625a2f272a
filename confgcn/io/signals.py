"""Turn the first signal that asks for an end into a request to stop after the epoch; a second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from confgcn.exceptions import StoppedError


def stop_signals() -> list[signal.Signals]:
    """Those that ask for an end: by a person, a system, a terminal that closes unless nohup told not to mind."""
    minds_hangup = signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if minds_hangup else [])]


@dataclass
class StopRequest:
    """The signal that asked for a stop, if one has; ``at_once`` while nothing would be gained by going on first."""

    received: int | None = None
    at_once: bool = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        is_impatient = self.at_once or self.received is not None
        self.received = number
        if is_impatient:
            raise KeyboardInterrupt  # which nothing on the way takes for an error of its own


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Handle signals inside the block, and put the old handlers back after it.

    Outside the main thread Python allows no handlers; the request then never comes.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    ours = [number for number in stop_signals() if signal.getsignal(number) is not None]  # None cannot be put back
    previous = {number: signal.signal(number, request.handle) for number in ours}
    try:
        yield request
    except KeyboardInterrupt:
        if request.received is None:
            raise
        raise StoppedError(f"stopped at once by {signal.Signals(request.received).name}", request.received) from None
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
