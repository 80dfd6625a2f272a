"""A worker without a heartbeat for too long is named."""

from __future__ import annotations

import os
import socket

import pytest
import torch.distributed as dist

from confgcn.distributed import heartbeat as module
from confgcn.distributed.heartbeat import (
    HEARTBEAT_INTERVAL,
    HEARTBEAT_TIMEOUT,
    RENDEZVOUS_TIMEOUT,
    Heartbeat,
    reporting_lost_workers,
)
from confgcn.distributed.launch import LAUNCHED, RESUME
from confgcn.distributed.rendezvous import claim_report
from confgcn.exceptions import ResourceError, UsageError


@pytest.fixture
def store() -> dist.HashStore:  # type: ignore[name-defined]
    return dist.HashStore()  # type: ignore[attr-defined]


def two(store: dist.HashStore) -> tuple[Heartbeat, Heartbeat]:  # type: ignore[name-defined]
    first, second = Heartbeat(store, 0, 2), Heartbeat(store, 1, 2)
    for heartbeat in (first, second):
        heartbeat._write(0)
    return first, second


def test_heartbeats_are_read(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, second = two(store)
    for count in range(1, 5):
        second._write(count)
        first._read(HEARTBEAT_INTERVAL)
        assert first.seconds_missing[1] == 0.0
    assert first.missing() == ""


def test_silence_is_counted_and_named(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, _ = two(store)
    for _ in range(5):
        first._read(HEARTBEAT_INTERVAL)
    assert first.seconds_missing[1] == 4 * HEARTBEAT_INTERVAL  # the first heartbeat was new
    assert first.missing() == f"worker 1 (process {os.getpid()} on {socket.gethostname()})"


def test_a_worker_that_succeeded_is_not_missing(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, second = two(store)
    second.stop(succeeded=True)
    for _ in range(5):
        first._read(HEARTBEAT_INTERVAL)
    assert first.missing() == ""


def test_a_worker_that_failed_is_missing(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, second = two(store)
    second.stop()
    for _ in range(5):
        first._read(HEARTBEAT_INTERVAL)
    assert first.missing().startswith("worker 1")


def test_too_long_a_silence_ends_the_process(
    store: dist.HashStore,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, _ = two(store)
    messages: list[str] = []
    monkeypatch.setattr(module, "end_process", messages.append)
    monkeypatch.setattr(Heartbeat, "_kill_if_local", lambda *_: None)
    first._read(HEARTBEAT_INTERVAL)
    first._read(HEARTBEAT_TIMEOUT + 1)
    first._check_workers()
    assert not messages  # before the first epoch a process may be blocked by METIS
    first.is_set_up = True
    first._check_workers()
    assert len(messages) == 1
    assert messages[0].startswith("worker 1 (process")
    assert "frozen" in messages[0]


def test_an_error_of_the_network_names_the_missing_worker(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, _ = two(store)
    first._read(HEARTBEAT_INTERVAL)
    first._read(5.0)
    with (
        pytest.raises(ResourceError, match=r"worker 1 .* has ended or is disconnected\. To continue .*--resume"),
        reporting_lost_workers(first),
    ):
        raise RuntimeError("gloo: Connection reset by peer")


def test_a_worker_that_has_never_connected_gets_more_time(
    store: dist.HashStore,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages: list[str] = []
    monkeypatch.setattr(module, "end_process", messages.append)
    first = Heartbeat(store, 0, 2)
    first._read(RENDEZVOUS_TIMEOUT - 1)
    first._check_workers()
    assert messages == []
    first._read(2.0)
    first._check_workers()
    assert messages == [f"worker 1 has not responded for 120 s: it is frozen or disconnected. {RESUME}"]


def test_workers_end_after_their_launcher(
    store: dist.HashStore,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    messages: list[str] = []
    monkeypatch.setattr(module, "end_process", messages.append)
    Heartbeat(store, 0, 2)._check_launcher()
    monkeypatch.setenv(LAUNCHED, "a job")
    heartbeat = Heartbeat(store, 0, 2)
    heartbeat._check_launcher()
    assert messages == []
    monkeypatch.setattr(os, "getppid", lambda: 1)
    heartbeat._check_launcher()
    monkeypatch.setenv("LOCAL_RANK", "1")
    heartbeat._check_launcher()
    assert messages == [f"process {heartbeat.launcher}, which started the workers, has ended. {RESUME}", ""]


def test_an_error_that_another_process_reports_is_not_reported_again(
    store: dist.HashStore,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, _ = two(store)
    assert claim_report(store, 3) is None
    messages: list[str] = []
    monkeypatch.setattr(module, "end_process", messages.append)
    first._fail(1, HEARTBEAT_TIMEOUT)
    assert messages == [""]
    assert first.is_end_reported()


def test_other_errors_are_not_changed() -> None:
    with pytest.raises(UsageError), reporting_lost_workers(None):
        raise UsageError("the connection is not an option")
    with pytest.raises(RuntimeError, match="shapes"), reporting_lost_workers(None):
        raise RuntimeError("shapes do not match")


def test_workers_that_cannot_connect() -> None:
    with pytest.raises(ResourceError, match="could not connect at"), reporting_lost_workers(None):
        raise dist.DistNetworkError("the client socket has timed out")
