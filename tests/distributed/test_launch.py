"""What tells a worker that it is one, and where its job listens."""

from __future__ import annotations

import os

import pytest

from confgcn.distributed.launch import VARIABLES, _surroundings, is_started_by_launcher
from confgcn.exceptions import UsageError

WORKER = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


def surround(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_one_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    surround(monkeypatch, **WORKER)
    assert is_started_by_launcher()


@pytest.mark.parametrize("variables", [{}, {"MASTER_ADDR": "host"}, WORKER | {"RANK": "0", "WORLD_SIZE": "1"}])
def test_one_alone(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    surround(monkeypatch, **variables)
    assert not is_started_by_launcher()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"WORLD_SIZE": ""}, "not WORLD_SIZE"),
        ({"RANK": "-1"}, "RANK = '-1'"),
        ({"RANK": "2"}, "less than WORLD_SIZE"),
        ({"MASTER_PORT": "65536"}, "MASTER_PORT"),
    ],
)
def test_half_of_what_a_worker_must_know(
    changed: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    surround(monkeypatch, **(WORKER | changed))
    with pytest.raises(UsageError, match=message):
        is_started_by_launcher()


def test_a_worker_is_told_what_torchrun_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told = _surroundings(1, 2, 29_500, "a job")
    assert {name: told[name] for name in WORKER} == WORKER
    assert told["GLOO_SOCKET_IFNAME"].startswith("lo")
    assert told["PATH"] == os.environ["PATH"]
