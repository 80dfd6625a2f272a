"""Several workers on this machine: the same command once for each, what a worker is told, and how their job ended.

What torchrun does, with errors of ours, and on the loopback alone: torchrun's store listens on every address.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from confgcn.exceptions import ResourceError, StoppedError, UsageError
from confgcn.io.signals import stop_signals

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # which torchrun sets
LAUNCHED = "TORCHELASTIC_RUN_ID"  # set where there is a launcher, torchrun's or this one
LOOPBACK = "127.0.0.1"
SECONDS_BETWEEN = 0.05  # two looks at the workers
SECONDS_TO_END = 15.0  # for the other workers when one has failed: they notice by themselves
GO_ON = "To go on from the last checkpoint, give the same command with --resume"


def is_started_by_launcher() -> bool:
    """Is this process one of several, started by torchrun or something like it?"""
    if "RANK" not in os.environ or os.environ.get("WORLD_SIZE") == "1":
        return False
    missing = [name for name in VARIABLES if not os.environ.get(name)]
    if missing:
        raise UsageError(f"RANK is set, but not {', '.join(missing)}: start workers with torchrun, or unset RANK")
    _check_numbers()
    return True


def _check_numbers() -> None:
    for name, highest in (("WORLD_SIZE", 2**31), ("RANK", 2**31), ("MASTER_PORT", 2**16 - 1)):
        text = os.environ[name]
        if not (text.isdecimal() and int(text) <= highest):
            raise UsageError(f"{name} = {text!r}: expected a whole number up to {highest}; torchrun sets it")
    if int(os.environ["RANK"]) >= int(os.environ["WORLD_SIZE"]):
        raise UsageError(f"RANK = {os.environ['RANK']}: expected less than WORLD_SIZE = {os.environ['WORLD_SIZE']}")


def launch(workers: int, arguments: Sequence[str]) -> int:
    """Run ``python -m confgcn`` with these arguments in so many processes; returns the exit code of the job.

    What a worker says of its end it says itself; of one that was killed it is said here.
    """
    from confgcn.distributed.rendezvous import FIRST_START, START, said_already, served_store

    store, port = served_store(socket.create_server((LOOPBACK, 0)))
    run_id = uuid.uuid4().hex
    started: list[subprocess.Popen[bytes]] = []
    with _signals_passed_on(started) as asked:
        for rank in range(workers):
            surroundings = _surroundings(rank, workers, port, run_id)
            started.append(_start(arguments, {**surroundings, START: FIRST_START}))
        if asked:
            _send(started, asked[-1])
        failed = _first_to_fail(started)
        if failed is None:
            return 0
        code = started[failed].returncode
        said = said_already(store, code if code > 0 else ResourceError.exit_code)
        _end(started)
    if said is None and (code < 0 or asked):
        raise _explanation(failed, started[failed], asked)
    return 128 + asked[0] if asked else said or code


def _surroundings(rank: int, workers: int, port: int, run_id: str) -> dict[str, str]:
    """What torchrun tells a worker."""
    loopback = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers}
    told = {name: str(number) for name, number in numbers.items()}
    told |= {"MASTER_ADDR": LOOPBACK, "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": loopback}
    told |= {LAUNCHED: run_id, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
    return {"OMP_NUM_THREADS": "1", **os.environ, **told}


def _start(arguments: Sequence[str], surroundings: dict[str, str]) -> subprocess.Popen[bytes]:
    """In a session of its own: a terminal interrupts the launcher, which passes it on, once."""
    command = [sys.executable, "-m", "confgcn", *arguments]
    return subprocess.Popen(command, env=surroundings, start_new_session=True)


@contextmanager
def _signals_passed_on(started: list[subprocess.Popen[bytes]]) -> Iterator[list[int]]:
    """To all workers; yields those that have come."""
    asked: list[int] = []

    def pass_on(number: int, frame: object) -> None:
        asked.append(number)
        _send(started, number)

    previous = {number: signal.signal(number, pass_on) for number in stop_signals()}
    try:
        yield asked
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _send(started: Sequence[subprocess.Popen[bytes]], number: int) -> None:
    for process in started:
        process.send_signal(number)


def _first_to_fail(started: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """Its rank; None when all have ended well."""
    while True:
        codes = [process.poll() for process in started]
        failed = [rank for rank, code in enumerate(codes) if code]
        if failed or not any(code is None for code in codes):
            return failed[0] if failed else None
        time.sleep(SECONDS_BETWEEN)


def _end(started: Sequence[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + SECONDS_TO_END
    for process in started:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _explanation(rank: int, process: subprocess.Popen[bytes], asked: list[int]) -> ResourceError | StoppedError:
    if asked:
        return StoppedError(f"stopped by {signal.Signals(asked[0]).name}", asked[0])
    return ResourceError(f"worker {rank} (process {process.pid}) was ended by {_name(-process.returncode)}. {GO_ON}")


def _name(number: int) -> str:
    """Of a signal; those of real-time systems have none."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
