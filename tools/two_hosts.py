"""Two hosts for real: two network namespaces with addresses of their own, torchrun in each, and a link that is cut.

    python tools/two_hosts.py [--out FILE]

Needs root and the command ip. Trains on the demo graph from both hosts, compares the run with that of two workers on
one host, byte for byte; then begins again, cuts the link in mid-training, and waits for both ends to say what happened.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HOSTS = {"confgcn-a": "10.77.0.1", "confgcn-b": "10.77.0.2"}
PORT = 29_555
PATIENCE = 300.0  # seconds for a whole job
FILES = ("predictions.csv", "model.safetensors", "history.jsonl")


def main() -> int:
    """Run both, tell, keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, help="write what was found as JSON")
    asked = parser.parse_args()
    with two_hosts(), tempfile.TemporaryDirectory() as folder:
        found = {"date": datetime.now(UTC).date().isoformat(), **trained(Path(folder)), **cut(Path(folder))}
    print(json.dumps(found, indent=2))
    if asked.out:
        asked.out.write_text(json.dumps(found, indent=2) + "\n")
    return 0 if found["same_as_one_host"] and all(found["exit_codes_after_cut"]) else 1


@contextmanager
def two_hosts() -> Iterator[None]:
    """Two namespaces joined by a pair of interfaces."""
    first, second = HOSTS
    try:
        for host in HOSTS:
            ip("netns", "add", host)
        ip("link", "add", "end-a", "netns", first, "type", "veth", "peer", "name", "end-b", "netns", second)
        for (host, address), end in zip(HOSTS.items(), ("end-a", "end-b"), strict=True):
            ip("-n", host, "address", "add", f"{address}/24", "dev", end)
            ip("-n", host, "link", "set", end, "up")
            ip("-n", host, "link", "set", "lo", "up")
        yield
    finally:
        for host in HOSTS:
            with suppress(subprocess.CalledProcessError):
                ip("netns", "delete", host)


def trained(folder: Path) -> dict[str, Any]:
    """A job from both hosts, and the same from one."""
    confgcn(folder, "partition", "demo", "--parts", "2", "--out", "shards")
    words = ("train", "shards", "--epochs", "40")
    began = time.monotonic()
    jobs = [started(folder, host, *words, "--out", "both") for host in HOSTS]
    said = [job.communicate(timeout=PATIENCE)[1] for job in jobs]
    if any(job.returncode for job in jobs):
        raise SystemExit("\n".join(said))
    seconds = time.monotonic() - began
    confgcn(folder, *words, "--out", "one", "--workers", "2")
    same = all((folder / "both" / name).read_bytes() == (folder / "one" / name).read_bytes() for name in FILES)
    return {"same_as_one_host": same, "seconds": round(seconds, 1)}


def cut(folder: Path) -> dict[str, Any]:
    """Cut the link once there is a checkpoint; how long until both have ended, and what do they say?"""
    jobs = [
        started(folder, host, "train", "shards", "--set", "epochs=1000000", "--set", "patience=1000000", "--out", "cut")
        for host in HOSTS
    ]
    deadline = time.monotonic() + PATIENCE
    while not list((folder / "cut/checkpoints").glob("epoch-???????.json")) and time.monotonic() < deadline:
        time.sleep(0.2)
    time.sleep(1.0)
    ip("-n", "confgcn-a", "link", "set", "end-a", "down")
    began, ended = time.monotonic(), {}
    while len(ended) < len(jobs) and time.monotonic() < deadline:
        ended |= {
            n: time.monotonic() - began for n, job in enumerate(jobs) if n not in ended and job.poll() is not None
        }
        time.sleep(0.2)
    for job in jobs:
        job.kill()
    errors = [line for job in jobs for line in job.communicate()[1].splitlines() if line.startswith("error:")]
    return {
        "seconds_after_cut": [round(ended[n], 1) if n in ended else None for n in range(len(jobs))],
        "exit_codes_after_cut": [job.returncode for job in jobs],
        "errors_after_cut": errors,
    }


def started(folder: Path, host: str, *words: str) -> subprocess.Popen[str]:
    """torchrun on one of the hosts, which meet at the first."""
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{HOSTS['confgcn-a']}:{PORT}", "--rdzv-id", words[-1]]
    meeting += ["--rdzv-conf", f"is_host={int(host == 'confgcn-a')}"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1", *meeting]
    command = ["ip", "netns", "exec", host, *launcher, "--local-addr", HOSTS[host], "-m", "confgcn", *words]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "end-a" if host == "confgcn-a" else "end-b"}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def confgcn(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "confgcn", *words], cwd=folder, check=True, capture_output=True)


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)  # noqa: S607 - where the system has it


if __name__ == "__main__":
    sys.exit(main())
