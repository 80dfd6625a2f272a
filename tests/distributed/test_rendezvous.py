"""A store on the loopback only, and one process that reports an error."""

from __future__ import annotations

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch.distributed as dist

from confgcn.distributed.launch import LOOPBACK
from confgcn.distributed.rendezvous import (
    FIRST_START,
    START,
    agree_on_start,
    claim_report,
    connect_store,
    end_after,
    is_reported,
    reported_by_another,
    serve_store,
)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> int:
    """A port at which nothing listens, as that of the job."""
    with socket.create_server((LOOPBACK, 0)) as taken:
        port: int = taken.getsockname()[1]
    monkeypatch.setenv("MASTER_ADDR", LOOPBACK)
    monkeypatch.setenv("MASTER_PORT", str(port))
    return port


def test_the_first_to_claim_reports_and_others_get_its_exit_code(job: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store, port = serve_store(socket.create_server((LOOPBACK, job)))
    monkeypatch.setenv(START, FIRST_START)
    assert port == job
    assert not is_reported(store)
    assert reported_by_another(3) is None
    assert is_reported(store)
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert claim_report(connect_store(5.0), 4) == 3
    for name, number in ((START, "1"), ("TORCHELASTIC_RESTART_COUNT", "0"), ("TORCHELASTIC_RESTART_COUNT", "1")):
        monkeypatch.delenv(START)
        monkeypatch.setenv(name, number)
        assert reported_by_another(4) is None  # another start has errors of its own, agreed on or not
        monkeypatch.setenv(START, "2")


def test_without_a_store_every_process_reports(job: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.distributed.rendezvous.SECONDS_TO_CLAIM", 0.2)
    assert reported_by_another(3) is None


def test_a_listener_that_never_answers_is_not_waited_for(job: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.distributed.rendezvous.SECONDS_TO_CLAIM", 0.2)
    with socket.create_server((LOOPBACK, job)):
        assert reported_by_another(3) is None


def test_a_process_that_does_not_connect_in_time_ends(job: int, wait_until: Callable[..., None]) -> None:
    messages: list[str] = []
    with end_after(0.01, messages.append):
        wait_until(lambda: bool(messages))
    with end_after(60.0, messages.append):
        pass
    assert messages == [f"the workers did not connect at {LOOPBACK}:{job} within 0 s"]


def test_all_workers_agree_on_a_start_whatever_an_earlier_one_left() -> None:
    store = dist.HashStore()  # type: ignore[attr-defined]
    store.set("confgcn/request/2", "a worker killed before it got a reply")
    for number in ("0", "1"):
        with ThreadPoolExecutor(3) as workers:
            assert list(workers.map(agree_on_start, [store] * 3, range(3), [3] * 3)) == [number] * 3
