"""Turn the first signal to stop into a request to stop after the epoch; a second one stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from confgcn.exceptions import StoppedError

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def stop_signals() -> list[signal.Signals]:
    """The signals that stop this process. SIGHUP is left out where it is ignored, as under nohup."""
    ignores_hangup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in STOP_SIGNALS if not (ignores_hangup and number is signal.SIGHUP)]


@dataclass
class StopRequest:
    """The signal received, if any. With ``at_once`` the first one stops, because there is nothing to save."""

    received: int | None = None
    at_once: bool = False

    def handle(self, number: int, frame: FrameType | None) -> None:
        stops_at_once = self.at_once or self.received is not None
        self.received = number
        if stops_at_once:
            raise KeyboardInterrupt  # no `except Exception` on the way catches it

    def raise_if_received(self) -> None:
        if self.received is not None:
            raise StoppedError(f"stopped by {signal.Signals(self.received).name}", self.received)


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Handle the signals within the block, and restore the previous handlers after it.

    Python allows handlers in the main thread only; in any other the request is never set.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return
    handled = [number for number in stop_signals() if signal.getsignal(number) is not None]  # None cannot be restored
    previous = {number: signal.signal(number, request.handle) for number in handled}
    try:
        yield request
    except KeyboardInterrupt:
        if request.received is None:
            raise
        raise StoppedError(f"stopped at once by {signal.Signals(request.received).name}", request.received) from None
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
