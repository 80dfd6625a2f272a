"""How a process knows that it is a worker, and the environment of the workers that it starts."""

from __future__ import annotations

import os

import pytest

from confgcn.distributed.launch import VARIABLES, _environment, is_started_by_launcher
from confgcn.exceptions import UsageError

WORKER = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


def set_environment(monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


def test_a_process_with_the_variables_of_a_launcher_is_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, **WORKER)
    assert is_started_by_launcher()


@pytest.mark.parametrize("variables", [{}, {"MASTER_ADDR": "host"}, WORKER | {"RANK": "0", "WORLD_SIZE": "1"}])
def test_a_process_without_them_is_not(variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    set_environment(monkeypatch, **variables)
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
def test_incomplete_or_invalid_variables_are_named(
    changed: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_environment(monkeypatch, **(WORKER | changed))
    with pytest.raises(UsageError, match=message):
        is_started_by_launcher()


def test_a_worker_gets_the_variables_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = _environment(1, 2, 29_500, "a job")
    assert {name: variables[name] for name in WORKER} == WORKER
    assert variables["GLOO_SOCKET_IFNAME"].startswith("lo")
    assert variables["PATH"] == os.environ["PATH"]
