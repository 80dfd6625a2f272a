"""Several workers on this machine, started by torch's own launcher: what torchrun does, with errors of ours."""

from __future__ import annotations

import logging
import os
import signal
import sys
import uuid
from collections.abc import Sequence

from confgcn.exceptions import ResourceError, StoppedError

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # which torchrun sets


def is_started_by_launcher() -> bool:
    """Is this process one of several, started by torchrun or something like it?"""
    return all(name in os.environ for name in VARIABLES) and os.environ["WORLD_SIZE"] != "1"


def own_rank() -> int:
    """The number of this process in its job."""
    return int(os.environ["RANK"])


def launch(workers: int, arguments: Sequence[str]) -> int:
    """Run ``python -m confgcn`` with these arguments in so many processes; returns the exit code of the first to fail.

    What a worker says of its end it says itself; of one that was killed it is said here.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed").setLevel(logging.CRITICAL)
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=workers,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="localhost",
        max_restarts=0,
        monitor_interval=0.2,
    )
    try:
        elastic_launch(config, sys.executable)("-m", "confgcn", *arguments)
    except ChildFailedError as failed:
        rank, failure = failed.get_first_failure()
        if failure.exitcode >= 0:
            return failure.exitcode
        name = signal.Signals(-failure.exitcode).name
        raise ResourceError(f"worker {rank} (process {failure.pid}) was ended by {name}") from None
    except SignalException as stopped:
        raise StoppedError(f"stopped by {stopped.sigval.name}", stopped.sigval) from None
    return 0
