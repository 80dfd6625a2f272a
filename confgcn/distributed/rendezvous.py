"""Where the processes of a job meet: a store that one process serves and all others reach, and what is said there once.

With torchrun, and with ``--workers``, it is the process that has started the workers which serves it: none of them can
freeze it or take it with them.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta

import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store

SECONDS_TO_ASK = 5.0  # who has said something; without an answer this process says it
SECONDS_BETWEEN = 0.05  # two looks at who has come
START = "CONFGCN_START"  # set once the workers have agreed on it, and by a launcher that starts them once
FIRST_START = "0"
_SAID = "said"


def served_store(listener: socket.socket) -> tuple[Store, int]:
    """A store that this process serves where the listener listens, and nowhere else; and the port."""
    host, port = listener.getsockname()
    store: Store = dist.TCPStore(  # type: ignore[attr-defined]
        host, port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    return _of_start(store, FIRST_START), port


def reached_store(seconds: float) -> Store:
    """The job's store, on a connection of its own; no answer may take longer than this."""
    host, port, patience = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), timedelta(seconds=seconds)
    store: Store = dist.TCPStore(  # type: ignore[attr-defined]
        host, port, is_master=False, timeout=patience, wait_for_workers=False
    )
    store.set_timeout(patience)
    return of_this_start(store)


def of_this_start(store: Store) -> Store:
    """torchrun may start a job again with the same store, in which addresses of the last start are still written."""
    until_agreed = f"before/{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}"
    return _of_start(store, os.environ.get(START, until_agreed))


def _of_start(store: Store, name: str) -> Store:
    return PrefixStore(f"confgcn/{name}", store)


def agreed_start(store: Store, rank: int, size: int) -> str:
    """The number that all workers give this start, whatever an earlier start has left in the store.

    Each torchrun counts the restarts that its own workers have caused: over several machines the counts differ. So the
    first worker counts the starts, and tells the others: each asks by a name that nobody had before.
    """
    return _tell_others(store, size) if rank == 0 else _asked_of_first(store, rank)


def _tell_others(store: Store, size: int) -> str:
    number = str(store.add("confgcn/starts", 1) - 1)
    missing = set(range(1, size))
    while missing:
        for rank in missing:
            if store.check([f"confgcn/asks/{rank}"]):  # perhaps one of an earlier start, which reads no answer
                store.set(f"confgcn/answer/{store.get(f'confgcn/asks/{rank}').decode()}", number)
        time.sleep(SECONDS_BETWEEN)
        missing = {rank for rank in missing if not store.check([f"confgcn/{number}/here/{rank}"])}
    return number


def _asked_of_first(store: Store, rank: int) -> str:
    name = uuid.uuid4().hex
    store.set(f"confgcn/asks/{rank}", name)
    while not store.check([f"confgcn/answer/{name}"]):  # a signal is heard between two looks
        time.sleep(SECONDS_BETWEEN)
    number: str = store.get(f"confgcn/answer/{name}").decode()
    store.set(f"confgcn/{number}/here/{rank}", "1")
    return number


def said_already(store: Store, code: int) -> int | None:
    """Of the processes that a fault ends one says so: the first to ask. Others get the exit code that it has."""
    own = f"{code} {socket.gethostname()} {os.getpid()}"
    found: str = store.compare_set(_SAID, "", own).decode()
    return None if found == own else int(found.split()[0])


def is_said(store: Store) -> bool:
    """Has a process said why the job ends?"""
    return bool(store.check([_SAID]))


def said_by_another(code: int) -> int | None:
    """The exit code of the process that has said why the job ends; None where this one is to say it."""
    found: list[int | None] = []

    def ask() -> None:
        with suppress(RuntimeError, ValueError, OSError):  # out of reach: who else would say it?
            found.append(said_already(reached_store(SECONDS_TO_ASK), code))

    asking = threading.Thread(target=ask, daemon=True)  # what listens there may be no store, and never answer
    asking.start()
    asking.join(SECONDS_TO_ASK)
    return found[0] if found else None


@contextmanager
def within(seconds: float, end: Callable[[str], None]) -> Iterator[None]:
    """Meet in so many seconds or ``end``, whatever this process waits for: torch waits for ever for a first answer."""
    place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    timer = threading.Timer(seconds, end, [f"the workers have not met at {place} in {seconds:.0f} s"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
