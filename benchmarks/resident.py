"""Resident memory: the peak of this process, and of a command and its child processes, sampled while it runs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

PAUSE = 0.005  # seconds between two samples
KINDS = {"RssAnon": "anonymous", "RssFile": "mapped", "VmHWM": "resident"}  # VmHWM: the peak of both together


class MonitoredCommand:
    """A finished command.

    Attributes:
        seconds, output: its duration, and its standard output.
        peaks: for each process, in the order in which they were started, the peak sizes in bytes.
    """

    def __init__(self, *words: str) -> None:
        started, found = time.perf_counter(), dict[int, dict[str, int]]()
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True, env=environment) as child:
            while child.poll() is None:
                for process in process_tree(child.pid):
                    update_peaks(found.setdefault(process, dict.fromkeys(KINDS.values(), 0)), resident(process))
                time.sleep(PAUSE)
            self.output = child.stdout.read() if child.stdout else ""
        if child.returncode:
            raise SystemExit(f"{' '.join(words)}: exit code {child.returncode}")
        self.seconds = time.perf_counter() - started
        self.peaks = [found[process] for process in sorted(found)]


def reset_peak() -> None:
    """Let the peak of this process start again from what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """The peak resident memory of this process since it started, or since :func:`reset_peak`."""
    return resident(os.getpid())["resident"]


def process_tree(process: int) -> list[int]:
    """A process and its descendants."""
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # the process has just ended
        return [process]
    return [process, *(member for child in children for member in process_tree(child))]


def resident(process: int) -> dict[str, int]:
    """Resident bytes of a process, by kind."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":") for line in lines)
    return {KINDS[name]: int(size.split()[0]) * 1024 for name, size in pairs if name in KINDS}


def update_peaks(peaks: dict[str, int], seen: dict[str, int]) -> None:
    """Update the peaks."""
    for kind, size in seen.items():
        peaks[kind] = max(peaks[kind], size)
