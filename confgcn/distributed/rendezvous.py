"""Where the workers of a job connect: a key-value store that one process serves.

With torchrun, and with ``--workers``, the process that started the workers serves it, so that no worker can freeze it
or end it.
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

SECONDS_TO_CLAIM = 5.0  # the report of an error; without a reply this process reports it
SECONDS_BETWEEN_POLLS = 0.05
START = "CONFGCN_START"  # set once the workers have agreed on it, and by a launcher that starts them once
FIRST_START = "0"
_REPORT = "report"


def serve_store(listener: socket.socket) -> tuple[Store, int]:
    """A store that this process serves on the listener's address only, and its port."""
    host, port = listener.getsockname()
    store: Store = dist.TCPStore(  # type: ignore[attr-defined]
        host, port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    return _prefixed(store, FIRST_START), port


def connect_store(seconds: float) -> Store:
    """A separate connection to the job's store; no reply may take longer than this."""
    host, port, timeout = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), timedelta(seconds=seconds)
    store: Store = dist.TCPStore(  # type: ignore[attr-defined]
        host, port, is_master=False, timeout=timeout, wait_for_workers=False
    )
    store.set_timeout(timeout)
    return store_of_start(store)


def store_of_start(store: Store) -> Store:
    """The keys of this start: torchrun may restart a job with the same store, which still holds the old addresses."""
    until_agreed = f"before/{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}"
    return _prefixed(store, os.environ.get(START, until_agreed))


def _prefixed(store: Store, start: str) -> Store:
    return PrefixStore(f"confgcn/{start}", store)


def agree_on_start(store: Store, rank: int, size: int) -> str:
    """The number that all workers give this start, whatever an earlier start has left in the store.

    Each torchrun counts the restarts that its own workers have caused: over several machines the counts differ. So the
    first worker counts the starts and replies to the others, each of which sends its request under a new name.
    """
    return _reply_to_others(store, size) if rank == 0 else _request_number(store, rank)


def _reply_to_others(store: Store, size: int) -> str:
    number = str(store.add("confgcn/starts", 1) - 1)
    missing = set(range(1, size))
    while missing:
        for rank in missing:
            if store.check([f"confgcn/request/{rank}"]):  # perhaps of an earlier start, where nobody reads the reply
                store.set(f"confgcn/reply/{store.get(f'confgcn/request/{rank}').decode()}", number)
        time.sleep(SECONDS_BETWEEN_POLLS)
        missing = {rank for rank in missing if not store.check([f"confgcn/{number}/joined/{rank}"])}
    return number


def _request_number(store: Store, rank: int) -> str:
    name = uuid.uuid4().hex
    store.set(f"confgcn/request/{rank}", name)
    while not store.check([f"confgcn/reply/{name}"]):  # polled, so that signals are handled in between
        time.sleep(SECONDS_BETWEEN_POLLS)
    number: str = store.get(f"confgcn/reply/{name}").decode()
    store.set(f"confgcn/{number}/joined/{rank}", "1")
    return number


def claim_report(store: Store, code: int) -> int | None:
    """Of the processes that a fault ends, the first to claim it reports the error: it gets None.

    The others get the exit code of that process.
    """
    own = f"{code} {socket.gethostname()} {os.getpid()}"
    first: str = store.compare_set(_REPORT, "", own).decode()
    return None if first == own else int(first.split()[0])


def is_reported(store: Store) -> bool:
    """Has a process reported why the job ends?"""
    return bool(store.check([_REPORT]))


def reported_by_another(code: int) -> int | None:
    """The exit code of the process that reports why the job ends; None if it is this process."""
    codes: list[int | None] = []

    def claim() -> None:
        with suppress(RuntimeError, ValueError, OSError):  # without a store every process reports
            codes.append(claim_report(connect_store(SECONDS_TO_CLAIM), code))

    claiming = threading.Thread(target=claim, daemon=True)  # another program may listen there, and never reply
    claiming.start()
    claiming.join(SECONDS_TO_CLAIM)
    return codes[0] if codes else None


@contextmanager
def end_after(seconds: float, end: Callable[[str], None]) -> Iterator[None]:
    """Call ``end`` if the block takes longer: torch waits without limit for the first reply of a store."""
    place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    timer = threading.Timer(seconds, end, [f"the workers did not connect at {place} within {seconds:.0f} s"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
