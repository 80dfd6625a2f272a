"""A reproduction that is stopped and killed: what is finished stays, nothing is run twice, no process is left."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from confgcn.experiments.paper.results import Results

RUNS = 8
COMMAND = ("reproduce", "table2", "--datasets", "demo", "--methods", "feat", "--seeds", str(RUNS), "--out", "out")


def start(folder: Path, *, jobs: int = 1) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "confgcn", *COMMAND, "--jobs", str(jobs)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows(folder: Path) -> list[str]:
    """The lines of finished runs; one that is not whole is none."""
    table = folder / "out" / "results.csv"
    text = table.read_text() if table.is_file() else ""
    return text[: text.rfind("\n") + 1].splitlines()[1:]


def children(process: subprocess.Popen[str]) -> set[int]:
    """The processes that this one has started."""
    found = {
        int(path.name): state_and_parent(int(path.name)) for path in Path("/proc").iterdir() if path.name.isdigit()
    }
    return {number for number, (_, parent) in found.items() if parent == process.pid}


def state_and_parent(number: int) -> tuple[str, int]:
    try:
        state, parent, *_ = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return "gone", 0
    return state, int(parent)


def is_running(number: int) -> bool:
    return state_and_parent(number)[0] not in ("gone", "Z", "X")  # a dead one that nobody has asked after is dead too


def test_stopped_and_killed_and_started_again_it_loses_nothing_and_repeats_nothing(
    tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    stopped = start(tmp_path)
    wait_until(lambda: len(rows(tmp_path)) > 0)
    stopped.send_signal(signal.SIGTERM)
    _, errors = stopped.communicate(timeout=60)
    assert stopped.returncode == 128 + signal.SIGTERM
    assert "stopped by SIGTERM; give the same command again to go on" in errors
    assert "Traceback" not in errors
    after_stop = rows(tmp_path)
    assert len(Results(tmp_path / "out").records) == len(after_stop) < RUNS

    killed = start(tmp_path, jobs=2)
    wait_until(lambda: len(rows(tmp_path)) > len(after_stop))
    workers = children(killed)
    assert len(workers) >= 2
    killed.kill()
    _, errors = killed.communicate(timeout=60)
    assert f"runs needed: {RUNS}, already there: {len(after_stop)}" in errors
    wait_until(lambda: not any(map(is_running, workers)), seconds=15)
    after_kill = rows(tmp_path)
    assert after_kill[: len(after_stop)] == after_stop
    assert len(after_kill) < RUNS

    last = start(tmp_path)
    output, errors = last.communicate(timeout=120)
    assert last.returncode == 0, errors
    assert "out/table2.md" in output.split()
    assert f"runs needed: {RUNS}, already there: {len(after_kill)}" in errors
    in_the_end = rows(tmp_path)
    assert in_the_end[: len(after_kill)] == after_kill
    assert sorted(record.seed for record in Results(tmp_path / "out").records.values()) == list(range(RUNS))
    assert len(in_the_end) == RUNS
