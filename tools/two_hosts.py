"""Two hosts: two network namespaces with addresses of their own, torchrun in each, and a link that is cut.

    python tools/two_hosts.py [--out FILE]

Needs root and the command ip. Trains on the demo graph from both hosts, compares the run with that of two workers on
one host, byte for byte; begins again, kills the worker of either host in turn, and lets the two torchruns start the job
anew; then begins once more, cuts the link in mid-training, and waits until both ends have reported an error.
Names are those of this process, so that two may run at once; nothing leaves the namespaces.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

PORT = 29_555
PATIENCE = 1200.0  # seconds for a whole job; only guards against a job that never ends
TRAIN = ("train", "shards", "--preset", "consensus")  # a preset that several workers can train
FILES = ("predictions.csv", "model.safetensors", "history.jsonl")
STEADY = ("--set", "select=last", "--set", "stop=never")
ENDLESS = ("--set", "epochs=1000000", "--set", "patience=1000000")


class Host(NamedTuple):
    """A namespace, its address, and its end of the link."""

    name: str
    address: str
    end: str


Hosts = tuple[Host, Host]


def main() -> int:
    """Run both, print and write the findings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="write what was found as JSON")
    given = parser.parse_args()
    with two_hosts() as hosts, tempfile.TemporaryDirectory() as folder:
        found = {"date": datetime.now(UTC).date().isoformat(), **trained(Path(folder), hosts)}
        found |= restarted(Path(folder), hosts) | cut(Path(folder), hosts)
    print(json.dumps(found, indent=2))
    if given.out:
        given.out.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if is_as_expected(found) else 1


def is_as_expected(found: dict[str, Any]) -> bool:
    """The same bytes from two hosts, killed or not; after the cut neither ends well, silently, or not at all."""
    ends = zip(found["exit_codes_after_cut"], found["seconds_after_cut"], found["errors_after_cut"], strict=True)
    same = all(value for name, value in found.items() if name.startswith("same_"))
    return same and all(code and seconds and errors for code, seconds, errors in ends)


def why_not() -> str:
    """Why there can be no two hosts here; "" where there can."""
    try:
        with two_hosts():
            return ""
    except FileNotFoundError:
        return "there is no command ip"
    except subprocess.CalledProcessError as error:
        return f"no network namespaces can be made: {error.stderr.decode().strip()}"


@contextmanager
def two_hosts() -> Iterator[Hosts]:
    """Two namespaces joined by a pair of interfaces; both go in the end, with whatever still runs in them."""
    number = os.getpid()
    hosts = Host(f"confgcn-{number}-a", "10.77.0.1", "end-a"), Host(f"confgcn-{number}-b", "10.77.0.2", "end-b")
    try:
        for host in hosts:
            ip("netns", "add", host.name)
        (first, _, one), (second, _, other) = hosts
        ip("link", "add", one, "netns", first, "type", "veth", "peer", "name", other, "netns", second)
        for host in hosts:
            ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", host.end)
            ip("-n", host.name, "link", "set", host.end, "up")
            ip("-n", host.name, "link", "set", "lo", "up")
        yield hosts
    finally:
        for host in hosts:
            remove(host)


def remove(host: Host) -> None:
    """A namespace lives for as long as a process in it."""
    with suppress(subprocess.CalledProcessError, FileNotFoundError):
        for number in ip("netns", "pids", host.name).split():
            with suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)
        ip("netns", "delete", host.name)


def trained(folder: Path, hosts: Hosts, *, epochs: int = 40) -> dict[str, Any]:
    """A job from both hosts, and the same from one."""
    confgcn(folder, "partition", "demo", "--shards", "2", "--out", "shards")
    words = (*TRAIN, "--epochs", str(epochs))
    began = time.monotonic()
    wait_for([started(folder, host, hosts[0], *words, "--out", "both") for host in hosts])
    seconds = time.monotonic() - began
    confgcn(folder, *words, "--out", "one", "--workers", "2")
    return {"same_as_one_host": are_the_same(folder, "both", "one"), "seconds": round(seconds, 1)}


def restarted(folder: Path, hosts: Hosts, *, epochs: int = 600) -> dict[str, Any]:
    """Kill the worker of the second host, and then that of the first; the same run left alone has the same bytes."""
    words = (*TRAIN, "--epochs", str(epochs), *STEADY)
    jobs = [started(folder, host, hosts[0], *words, "--out", "again", restarts=2) for host in hosts]
    next_checkpoint(folder / "again")
    seconds = []
    for job in reversed(jobs):
        killed, began = next_worker(job), time.monotonic()
        os.kill(killed, signal.SIGKILL)
        next_worker(job, after=killed)
        next_checkpoint(folder / "again", after=newest_checkpoint(folder / "again"))
        seconds.append(round(time.monotonic() - began, 1))
    wait_for(jobs)
    confgcn(folder, *words, "--out", "steady", "--workers", "2")
    return {"same_when_restarted": are_the_same(folder, "again", "steady"), "seconds_to_go_on": seconds}


def cut(folder: Path, hosts: Hosts) -> dict[str, Any]:
    """Cut the link once there is a checkpoint; how long until both have ended, and with which errors?"""
    jobs = [started(folder, host, hosts[0], *TRAIN, *ENDLESS, "--out", "cut") for host in hosts]
    next_checkpoint(folder / "cut")
    time.sleep(1.0)
    ip("-n", hosts[0].name, "link", "set", hosts[0].end, "down")
    ended = seconds_until_ended(jobs, time.monotonic() + PATIENCE)
    for job in jobs:
        job.kill()
    errors = [job.communicate()[1].splitlines() for job in jobs]
    return {
        "seconds_after_cut": ended,
        "exit_codes_after_cut": [job.returncode for job in jobs],
        "errors_after_cut": [[line for line in lines if line.startswith("error:")] for lines in errors],
    }


def seconds_until_ended(jobs: Sequence[subprocess.Popen[str]], deadline: float) -> list[float | None]:
    """From now, for each of them; None where it has not."""
    began, ended = time.monotonic(), dict[int, float]()
    while len(ended) < len(jobs) and time.monotonic() < deadline:
        new = [n for n, job in enumerate(jobs) if n not in ended and job.poll() is not None]
        ended |= dict.fromkeys(new, round(time.monotonic() - began, 1))
        time.sleep(0.2)
    return [ended.get(n) for n in range(len(jobs))]


def wait_for(jobs: Sequence[subprocess.Popen[str]]) -> None:
    """Until all have ended well."""
    errors = [job.communicate(timeout=PATIENCE)[1] for job in jobs]
    if any(job.returncode for job in jobs):
        ends = (f"host {number}, exit code {job.returncode}:" for number, job in enumerate(jobs, 1))
        raise SystemExit("\n".join(text for pair in zip(ends, errors, strict=True) for text in pair))


def next_checkpoint(run: Path, *, after: str = "") -> None:
    """Wait for one that all workers have written, later than another."""
    wait_until(lambda: newest_checkpoint(run) > after, f"{run}: no checkpoint")


def newest_checkpoint(run: Path) -> str:
    return max((file.name for file in (run / "checkpoints").glob("epoch-???????.json")), default="")


def next_worker(job: subprocess.Popen[str], *, after: int = 0) -> int:
    """The process that a torchrun has started, after another that was killed."""
    wait_until(lambda: workers_of(job) not in ([], [after]), f"process {job.pid}: no worker")
    return workers_of(job)[0]


def workers_of(job: subprocess.Popen[str]) -> list[int]:
    found = []
    with suppress(OSError):  # one that has just ended
        for task in Path(f"/proc/{job.pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                if re.search(r"\0RANK=\d+\0", Path(f"/proc/{child}/environ").read_text()):
                    found.append(int(child))
    return found


def wait_until(is_so: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"{complaint} in {PATIENCE:.0f} s")
        time.sleep(0.05)


def are_the_same(folder: Path, one: str, other: str) -> bool:
    return all((folder / one / name).read_bytes() == (folder / other / name).read_bytes() for name in FILES)


def started(folder: Path, host: Host, first: Host, *words: str, restarts: int = 0) -> subprocess.Popen[str]:
    """torchrun on one of the hosts, whose rendezvous is at the first."""
    rendezvous = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{first.address}:{PORT}", "--rdzv-id", words[-1]]
    rendezvous += ["--rdzv-conf", f"is_host={int(host == first)}"]
    rendezvous += ["--local-addr", host.address, "--max-restarts", str(restarts)]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", *rendezvous]
    command = ["ip", "netns", "exec", host.name, *launcher, "-m", "confgcn", *words]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": host.end}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def confgcn(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "confgcn", *words], cwd=folder, check=True, capture_output=True)


def ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True).stdout.decode()  # noqa: S607 - of the system


if __name__ == "__main__":
    sys.exit(main())
