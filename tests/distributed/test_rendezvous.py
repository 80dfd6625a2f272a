"""A store on the loopback alone, and one process that says what has happened."""

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
    agreed_start,
    is_said,
    reached_store,
    said_already,
    said_by_another,
    served_store,
    within,
)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> int:
    """A port at which nothing listens, as that of the job."""
    with socket.create_server((LOOPBACK, 0)) as taken:
        port: int = taken.getsockname()[1]
    monkeypatch.setenv("MASTER_ADDR", LOOPBACK)
    monkeypatch.setenv("MASTER_PORT", str(port))
    return port


def test_the_first_to_ask_says_it_and_others_have_its_exit_code(job: int, monkeypatch: pytest.MonkeyPatch) -> None:
    store, port = served_store(socket.create_server((LOOPBACK, job)))
    monkeypatch.setenv(START, FIRST_START)
    assert port == job
    assert not is_said(store)
    assert said_by_another(3) is None
    assert is_said(store)
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert said_already(reached_store(5.0), 4) == 3
    for name, number in ((START, "1"), ("TORCHELASTIC_RESTART_COUNT", "0"), ("TORCHELASTIC_RESTART_COUNT", "1")):
        monkeypatch.delenv(START)
        monkeypatch.setenv(name, number)
        assert said_by_another(4) is None  # another start has errors of its own, agreed on or not
        monkeypatch.setenv(START, "2")


def test_without_anybody_to_ask_a_process_says_it_itself(job: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.distributed.rendezvous.SECONDS_TO_ASK", 0.2)
    assert said_by_another(3) is None


def test_what_listens_and_never_answers_is_not_waited_for(job: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confgcn.distributed.rendezvous.SECONDS_TO_ASK", 0.2)
    with socket.create_server((LOOPBACK, job)):
        assert said_by_another(3) is None


def test_who_does_not_meet_in_time_ends(job: int, wait_until: Callable[..., None]) -> None:
    said: list[str] = []
    with within(0.01, said.append):
        wait_until(lambda: bool(said))
    with within(60.0, said.append):
        pass
    assert said == [f"the workers have not met at {LOOPBACK}:{job} in 0 s"]


def test_all_workers_give_a_start_one_number_whatever_the_one_before_left_behind() -> None:
    store = dist.HashStore()  # type: ignore[attr-defined]
    store.set("confgcn/asks/2", "who was killed before anybody answered")
    for number in ("0", "1"):
        with ThreadPoolExecutor(3) as workers:
            assert list(workers.map(agreed_start, [store] * 3, range(3), [3] * 3)) == [number] * 3
