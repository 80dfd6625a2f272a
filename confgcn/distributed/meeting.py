"""Where the processes of a job meet: a store that one process serves and all others reach, and what is said there once.

With torchrun, and with ``--workers``, it is the process that has started the workers which serves it: none of them can
freeze it or take it with them.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from datetime import timedelta

import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store

SECONDS_TO_ASK = 5.0  # who has said something; without an answer this process says it
_SAID = "said"


def served_store(listener: socket.socket) -> tuple[Store, int]:
    """A store that this process serves where the listener listens, and nowhere else; and the port."""
    host, port = listener.getsockname()
    store: Store = dist.TCPStore(  # type: ignore[attr-defined]
        host, port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    return _of_this_start(store), port


def reached_store(seconds: float) -> Store:
    """The job's store, on a connection of its own; no answer may take longer than this."""
    host, port, patience = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), timedelta(seconds=seconds)
    store: Store = dist.TCPStore(  # type: ignore[attr-defined]
        host, port, is_master=False, timeout=patience, wait_for_workers=False
    )
    store.set_timeout(patience)
    return _of_this_start(store)


def _of_this_start(store: Store) -> Store:
    """torchrun may start a job again, with the same store."""
    return PrefixStore(f"confgcn/{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)


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
    with suppress(RuntimeError, ValueError, OSError):  # out of reach: who else would say it?
        return said_already(reached_store(SECONDS_TO_ASK), code)
    return None
