"""Who is silent for too long is named."""

from __future__ import annotations

import os
import socket

import pytest
import torch.distributed as dist

from confgcn.distributed import watch as watching
from confgcn.distributed.launch import GO_ON, LAUNCHED
from confgcn.distributed.rendezvous import said_already
from confgcn.distributed.watch import LONGEST_MEETING, LONGEST_SILENCE, SECONDS_BETWEEN, Watch, lost_touch
from confgcn.exceptions import ResourceError, UsageError


@pytest.fixture
def store() -> dist.HashStore:  # type: ignore[name-defined]
    return dist.HashStore()  # type: ignore[attr-defined]


def two(store: dist.HashStore) -> tuple[Watch, Watch]:  # type: ignore[name-defined]
    first, second = Watch(store, 0, 2), Watch(store, 1, 2)
    for watch in (first, second):
        watch._say(0)
    return first, second


def test_signs_of_life_are_heard(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, second = two(store)
    for count in range(1, 5):
        second._say(count)
        first._hear(SECONDS_BETWEEN)
        assert first.silent[1] == 0.0
    assert first.missing() == ""


def test_silence_is_counted_and_named(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, _ = two(store)
    for _ in range(5):
        first._hear(SECONDS_BETWEEN)
    assert first.silent[1] == 4 * SECONDS_BETWEEN  # the first look was news
    assert first.missing() == f"worker 1 (process {os.getpid()} on {socket.gethostname()})"


def test_one_that_has_left_is_not_missed(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, second = two(store)
    second.stop(well=True)
    for _ in range(5):
        first._hear(SECONDS_BETWEEN)
    assert first.missing() == ""


def test_one_that_has_left_in_error_is_missed(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, second = two(store)
    second.stop()
    for _ in range(5):
        first._hear(SECONDS_BETWEEN)
    assert first.missing().startswith("worker 1")


def test_too_long_a_silence_ends_the_process(
    store: dist.HashStore,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, _ = two(store)
    said: list[str] = []
    monkeypatch.setattr(watching, "leave", said.append)
    monkeypatch.setattr(Watch, "_end_if_here", lambda *_: None)
    first._hear(SECONDS_BETWEEN)
    first._hear(LONGEST_SILENCE + 1)
    first._check()
    assert not said  # before the first epoch a process may be at work that lets it say nothing
    first.is_set_up = True
    first._check()
    assert len(said) == 1
    assert said[0].startswith("worker 1 (process")
    assert "frozen" in said[0]


def test_errors_of_the_network_name_who_is_missing(store: dist.HashStore) -> None:  # type: ignore[name-defined]
    first, _ = two(store)
    first._hear(SECONDS_BETWEEN)
    first._hear(5.0)
    with (
        pytest.raises(ResourceError, match=r"worker 1 .* has ended or is cut off\. To go on .*--resume"),
        lost_touch(first),
    ):
        raise RuntimeError("gloo: Connection reset by peer")


def test_who_has_never_been_heard_of_is_waited_for_a_while_longer(
    store: dist.HashStore,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(watching, "leave", said.append)
    first = Watch(store, 0, 2)
    first._hear(LONGEST_MEETING - 1)
    first._check()
    assert said == []
    first._hear(2.0)
    first._check()
    assert said == [f"worker 1 has not been heard of for 120 s: it is frozen, or cut off from this one. {GO_ON}"]


def test_a_launcher_that_has_ended_is_missed_by_those_it_started(
    store: dist.HashStore,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(watching, "leave", said.append)
    Watch(store, 0, 2)._check_launcher()
    monkeypatch.setenv(LAUNCHED, "a job")
    watch = Watch(store, 0, 2)
    watch._check_launcher()
    assert said == []
    monkeypatch.setattr(os, "getppid", lambda: 1)
    watch._check_launcher()
    monkeypatch.setenv("LOCAL_RANK", "1")
    watch._check_launcher()
    assert said == [f"process {watch.launcher}, which had started the workers, has ended. {GO_ON}", ""]


def test_a_silence_that_another_has_told_of_is_not_told_again(
    store: dist.HashStore,  # type: ignore[name-defined]
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, _ = two(store)
    assert said_already(store, 3) is None
    said: list[str] = []
    monkeypatch.setattr(watching, "leave", said.append)
    first._fail(1, LONGEST_SILENCE)
    assert said == [""]
    assert first.hears_reason()


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(UsageError), lost_touch(None):
        raise UsageError("the connection is not an option")
    with pytest.raises(RuntimeError, match="shapes"), lost_touch(None):
        raise RuntimeError("shapes do not match")


def test_workers_that_cannot_meet() -> None:
    with pytest.raises(ResourceError, match="could not meet at"), lost_touch(None):
        raise dist.DistNetworkError("the client socket has timed out")
