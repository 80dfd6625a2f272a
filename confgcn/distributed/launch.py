"""Start several workers on this machine: the same command in each, with the environment variables of torchrun.

torchrun does the same; but its store listens on every address, this one on the loopback only.
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
LAUNCHED = "TORCHELASTIC_RUN_ID"  # set by every launcher, torchrun or this one
LOOPBACK = "127.0.0.1"
SECONDS_BETWEEN_POLLS = 0.05
SECONDS_TO_END = 15.0  # for the other workers after one has failed: they notice by themselves
RESUME = "To continue from the last checkpoint, give the same command with --resume"


def is_started_by_launcher() -> bool:
    """Is this process one of several, started by torchrun or a similar launcher?"""
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

    A worker reports its own errors; the end of one that was killed is reported here.
    """
    from confgcn.distributed.rendezvous import FIRST_START, START, claim_report, serve_store

    store, port = serve_store(socket.create_server((LOOPBACK, 0)))
    run_id = uuid.uuid4().hex
    started: list[subprocess.Popen[bytes]] = []
    with _forwarding_signals(started) as received:
        for rank in range(workers):
            environment = _environment(rank, workers, port, run_id)
            started.append(_start(arguments, {**environment, START: FIRST_START}))
        if received:
            _send(started, received[-1])
        failed = _first_to_fail(started)
        if failed is None:
            return 0
        code = started[failed].returncode
        reported = claim_report(store, code if code > 0 else ResourceError.exit_code)
        _end(started)
    if reported is None and (code < 0 or received):
        raise _explanation(failed, started[failed], received)
    return 128 + received[0] if received else reported or code


def _environment(rank: int, workers: int, port: int, run_id: str) -> dict[str, str]:
    """The environment of a worker, with the variables that torchrun sets."""
    loopback = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": workers, "LOCAL_WORLD_SIZE": workers}
    variables = {name: str(number) for name, number in numbers.items()}
    variables |= {"MASTER_ADDR": LOOPBACK, "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": loopback}
    variables |= {LAUNCHED: run_id, "TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0"}
    return {"OMP_NUM_THREADS": "1", **os.environ, **variables}


def _start(arguments: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """In a session of its own: a terminal interrupts the launcher only, which forwards the signal once."""
    command = [sys.executable, "-m", "confgcn", *arguments]
    return subprocess.Popen(command, env=environment, start_new_session=True)


@contextmanager
def _forwarding_signals(started: list[subprocess.Popen[bytes]]) -> Iterator[list[int]]:
    """Within, signals to stop are sent to all workers; yields those received."""
    received: list[int] = []

    def forward(number: int, frame: object) -> None:
        received.append(number)
        _send(started, number)

    previous = {number: signal.signal(number, forward) for number in stop_signals()}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _send(started: Sequence[subprocess.Popen[bytes]], number: int) -> None:
    for process in started:
        process.send_signal(number)


def _first_to_fail(started: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """Its rank; None when all have succeeded."""
    while True:
        codes = [process.poll() for process in started]
        failed = [rank for rank, code in enumerate(codes) if code]
        if failed or not any(code is None for code in codes):
            return failed[0] if failed else None
        time.sleep(SECONDS_BETWEEN_POLLS)


def _end(started: Sequence[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + SECONDS_TO_END
    for process in started:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _explanation(rank: int, process: subprocess.Popen[bytes], received: list[int]) -> ResourceError | StoppedError:
    if received:
        return StoppedError(f"stopped by {signal.Signals(received[0]).name}", received[0])
    ended_by = _signal_name(-process.returncode)
    return ResourceError(f"worker {rank} (process {process.pid}) was ended by {ended_by}. {RESUME}")


def _signal_name(number: int) -> str:
    """Real-time signals have no name."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
