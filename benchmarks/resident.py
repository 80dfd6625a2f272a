"""Run a command and look, every few milliseconds, at the memory of its process and of those that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

PAUSE = 0.005  # seconds between two looks
KINDS = {"RssAnon": "anonymous", "RssFile": "mapped", "VmHWM": "resident"}  # VmHWM: the most of both together


class Watched:
    """A command that has ended.

    Attributes:
        seconds, output: how long it took, and what it printed.
        peaks: for each process, in the order in which they were started, the largest sizes seen, in bytes.
    """

    def __init__(self, *words: str) -> None:
        began, found = time.perf_counter(), dict[int, dict[str, int]]()
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, env=environment) as child:
            while child.poll() is None:
                for process in family(child.pid):
                    keep_largest(found.setdefault(process, dict.fromkeys(KINDS.values(), 0)), resident(process))
                time.sleep(PAUSE)
            self.output = child.stdout.read() if child.stdout else ""
        if child.returncode:
            raise SystemExit(f"{' '.join(words)}: exit code {child.returncode}")
        self.seconds = time.perf_counter() - began
        self.peaks = [found[process] for process in sorted(found)]


def family(process: int) -> list[int]:
    """A process and all that come from it."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # it has just ended
        return [process]
    return [process, *(member for child in children for member in family(child))]


def resident(process: int) -> dict[str, int]:
    """Bytes of a process in memory, by kind."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":") for line in lines)
    return {KINDS[name]: int(size.split()[0]) * 1024 for name, size in pairs if name in KINDS}


def keep_largest(peaks: dict[str, int], seen: dict[str, int]) -> None:
    """Count them in."""
    for kind, size in seen.items():
        peaks[kind] = max(peaks[kind], size)
