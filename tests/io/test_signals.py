"""The first signal is a request, the second stops at once; the caller's handlers are restored."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from confgcn.exceptions import StoppedError
from confgcn.io.signals import StopRequest, stop_request, stop_signals


@pytest.fixture
def ignored_hangup() -> Iterator[None]:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


def test_signals_are_handled_within_the_block_and_handlers_restored() -> None:
    before = signal.getsignal(signal.SIGINT)

    def two_signals() -> None:
        with stop_request() as request:
            signal.raise_signal(signal.SIGINT)
            assert request.received == signal.SIGINT
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(StoppedError, match="at once by SIGTERM") as raised:
        two_signals()
    assert raised.value.exit_code == 143
    assert signal.getsignal(signal.SIGINT) is before


def test_a_hangup_that_is_ignored_stops_nothing(ignored_hangup: None) -> None:
    assert stop_signals() == [signal.SIGINT, signal.SIGTERM]
    with stop_request() as request:
        signal.raise_signal(signal.SIGHUP)
        assert request.received is None
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_with_at_once_the_first_signal_stops() -> None:
    def one_signal() -> None:
        with stop_request() as request:
            request.at_once = True
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(StoppedError, match="at once by SIGINT"):
        one_signal()


def test_a_keyboard_interrupt_without_a_signal_is_left_alone() -> None:
    with pytest.raises(KeyboardInterrupt), stop_request():
        raise KeyboardInterrupt


def test_outside_the_main_thread_no_handler_is_set() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def use() -> None:
        with stop_request() as request:
            seen.append((request.received, signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert seen == [(None, True)]


def test_a_request_raises_when_a_signal_was_received() -> None:
    StopRequest().raise_if_received()
    with pytest.raises(StoppedError, match="stopped by SIGTERM") as raised:
        StopRequest(received=signal.SIGTERM).raise_if_received()
    assert raised.value.exit_code == 143
