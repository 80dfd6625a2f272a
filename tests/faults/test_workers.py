"""One training in several processes: killed, frozen, disconnected or left behind. Each time the job ends, one error
names the cause, no process is left running, and any number of workers resumes from the last checkpoint."""

from __future__ import annotations

import csv
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from confgcn.cli.main import app
from confgcn.exceptions import UsageError
from confgcn.io.tensor_files import read_tensors

if TYPE_CHECKING:
    from tests.conftest import Started
    from tests.faults.conftest import Outside, Tables

SPLIT = ("--validation", 0.3, "--test", 0.2)
# Without dropout: what is dropped is drawn by every worker for its own rows, so another number of them draws other.
EVERY_NODE = ("--set", "dropout=0", "--set", "node_dropout=0")
GRAPH = ("train", "mygraph", "--preset", "consensus", *SPLIT, "--set", "patience=100000", *EVERY_NODE, "--out", "run")
TRAIN = (*GRAPH, "--epochs", 80)
ENDLESS = (*GRAPH, "--epochs", 100_000)
RESULTS = ("predictions.csv", "model.safetensors")
TOLERANCE = 0.001  # of a probability, between two numbers of workers
WaitUntil = Callable[..., None]
# What every worker runs first: it saves after each epoch.
SAVING_ALWAYS = """
import os
if "RANK" in os.environ:
    from confgcn.training.checkpoint import Checkpointer
    Checkpointer.__init__.__kwdefaults__["seconds_between"] = 0.0
"""
SLOW_TO_READ = """
import os, pathlib, time
if "RANK" in os.environ:
    from confgcn.runs import distributed as distributed_runs
    def wait(*words):
        pathlib.Path(os.environ["WAITING"] + os.environ["RANK"]).touch()
        time.sleep(100_000)
    distributed_runs.load_shard = wait
"""
MEETING_BRIEFLY = """
from confgcn.distributed import process_group
process_group.RENDEZVOUS_TIMEOUT = 1.0
"""


def running_first(folder: Path, lines: str = SAVING_ALWAYS) -> dict[str, str]:
    """An environment in which every Python process runs these lines first."""
    place = folder.parent / "first"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(lines)
    paths = [str(place), str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths))}


def children(number: int) -> dict[int, int]:
    """The workers that a process has started, by rank."""
    found: dict[int, int] = {}
    for task in Path(f"/proc/{number}/task").iterdir():
        for child in (task / "children").read_text().split():
            rank = re.search(r"\0RANK=(\d+)\0", Path(f"/proc/{child}/environ").read_text())
            found |= {int(rank[1]): int(child)} if rank else {}
    return found


def is_running(number: int) -> bool:
    stat = Path(f"/proc/{number}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in ("Z", "X")


def checkpoints(folder: Path) -> list[Path]:
    return list((folder / "run/checkpoints").glob("epoch-???????.json"))


def newest(folder: Path) -> str:
    return max((file.name for file in checkpoints(folder)), default="")


def begin(outside: Outside, wait_until: WaitUntil, workers: int, *words: Any) -> tuple[Started, dict[int, int]]:
    """A job of so many workers that has saved a checkpoint, and the workers."""
    outside.write_graph()
    before = newest(outside.folder)
    started = outside.start(*words, "--workers", workers, environment=running_first(outside.folder), has_workers=True)
    wait_until(lambda: newest(outside.folder) > before or not started.process.is_alive())
    assert started.process.is_alive(), started.wait().errors
    assert started.process.pid is not None
    found = children(started.process.pid)
    assert found.keys() == set(range(workers))
    return started, found


def ended_with(started: Started, workers: dict[int, int], wait_until: WaitUntil, *, code: int) -> str:
    """The one error of a job that has ended, in time and as a whole."""
    ended = started.wait()
    assert (ended.code, "Traceback" in ended.errors) == (code, False), ended.errors
    wait_until(lambda: not any(map(is_running, workers.values())))
    (error,) = re.findall(r"(?m)^error: .*$", ended.errors)
    return str(error)


def probabilities(run: Path) -> dict[str, float]:
    with (run / "predictions.csv").open(newline="") as stream:
        return {row["node"]: float(row["probability"]) for row in csv.DictReader(stream)}


@pytest.fixture(scope="module")
def undisturbed(outside_before: Outside) -> Path:
    """The run of two workers that nothing has happened to."""
    outside_before.write_graph()
    outside_before.accepts(*TRAIN, "--workers", 2, environment=running_first(outside_before.folder), has_workers=True)
    return outside_before.folder / "run"


@pytest.mark.fault("P17", "P18", "P21")
def test_killed_and_frozen_workers_are_named_and_another_number_of_workers_resumes(
    outside: Outside, wait_until: WaitUntil, undisturbed: Path
) -> None:
    started, workers = begin(outside, wait_until, 2, *TRAIN)
    os.kill(workers[0], signal.SIGKILL)
    error = ended_with(started, workers, wait_until, code=4)
    assert f"worker 0 (process {workers[0]}) was ended by SIGKILL" in error
    assert "--resume" in error
    started, workers = begin(outside, wait_until, 3, *TRAIN, "--resume")
    os.kill(workers[1], signal.SIGSTOP)
    error = ended_with(started, workers, wait_until, code=4)
    assert re.search(rf"worker 1 \(process {workers[1]} on .*\) has not responded for \d+ s: it is frozen", error)
    outside.accepts(*TRAIN, "--resume")
    assert probabilities(outside.folder / "run") == pytest.approx(probabilities(undisturbed), abs=TOLERANCE)
    assert not list((outside.folder / "run").glob("*shards*"))


@pytest.mark.fault("P17", "P18")
def test_torchrun_restarts_workers_that_froze_or_were_killed(
    outside: Outside, wait_until: WaitUntil, undisturbed: Path
) -> None:
    outside.write_graph()
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "2"]
    environment = {**os.environ, **running_first(outside.folder)}
    command = [*torchrun, "-m", "confgcn", *map(str, TRAIN)]
    job = subprocess.Popen(command, cwd=outside.folder, env=environment, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: bool(checkpoints(outside.folder)))
        first = children(job.pid)
        os.kill(first[0], signal.SIGSTOP)
        wait_until(lambda: not any(map(is_running, first.values())))
        before = newest(outside.folder)
        wait_until(lambda: newest(outside.folder) > before)
        os.kill(children(job.pid)[1], signal.SIGKILL)
        errors = job.communicate(timeout=1200)[1].decode()
    finally:
        job.kill()  # and with it, soon after, its workers
    assert job.returncode == 0, errors
    assert "worker 0" in errors
    assert "worker 1" in errors
    for name in RESULTS:
        assert (outside.folder / "run" / name).read_bytes() == (undisturbed / name).read_bytes(), name


@pytest.mark.fault("P17")
def test_workers_end_with_the_process_that_started_them(
    outside: Outside, wait_until: WaitUntil, undisturbed: Path
) -> None:
    started, workers = begin(outside, wait_until, 2, *TRAIN)
    started.process.kill()
    assert started.wait().code == -signal.SIGKILL
    wait_until(lambda: not any(map(is_running, workers.values())))
    errors = re.findall(r"(?m)^error: .*$", started.errors.read_text())
    assert len(errors) == 1, errors
    assert f"process {started.process.pid}, which started the workers, has ended" in errors[0]
    shards = outside.folder / "run/shards"
    (shards / "shard-0001/labels.npy").write_text("x")
    environment = running_first(outside.folder)
    ended = outside.accepts(*TRAIN, "--workers", 2, "--resume", environment=environment, has_workers=True)
    assert re.search(r"labels\.npy: .*; the graph is partitioned again", ended.errors)
    for name in RESULTS:
        assert (outside.folder / "run" / name).read_bytes() == (undisturbed / name).read_bytes(), name


@pytest.mark.fault("P02", "P03", "P04", "P20")
@pytest.mark.parametrize(("number", "times"), [(signal.SIGTERM, 1), (signal.SIGINT, 2)])
def test_a_signal_stops_all_workers_and_they_listen_on_the_loopback_only(
    outside: Outside, wait_until: WaitUntil, number: int, times: int
) -> None:
    started, workers = begin(outside, wait_until, 2, *ENDLESS)
    assert started.process.pid is not None
    listening = [address for process in (started.process.pid, *workers.values()) for address in listens_at(process)]
    assert len(listening) >= 3
    assert set(listening) == {"0100007F"}
    for _ in range(times):
        started.send(number)
    error = ended_with(started, workers, wait_until, code=128 + number)
    assert f"by {signal.Signals(number).name}" in error
    assert times > 1 or "the state is saved" in error
    assert checkpoints(outside.folder)


@pytest.mark.fault("P02", "P03")
def test_a_signal_before_the_first_epoch_stops_at_once(outside: Outside, wait_until: WaitUntil) -> None:
    outside.write_graph()
    waiting = outside.folder.parent / "waiting"
    environment = {**running_first(outside.folder, SLOW_TO_READ), "WAITING": str(waiting)}
    started = outside.start(*TRAIN, "--workers", 2, environment=environment, has_workers=True)
    wait_until(lambda: all(Path(f"{waiting}{rank}").exists() for rank in (0, 1)))
    assert started.process.pid is not None
    workers = children(started.process.pid)
    started.send(signal.SIGTERM)
    error = ended_with(started, workers, wait_until, code=143)
    assert "stopped at once by SIGTERM" in error
    assert "--resume" in error
    outside.accepts(*TRAIN, "--resume")


def listens_at(process: int) -> list[str]:
    """The addresses at which a process listens, as the kernel writes them."""
    links = [str(file.readlink()) for file in Path(f"/proc/{process}/fd").iterdir() if file.is_symlink()]
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [line[1].split(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in links]


@pytest.mark.fault("P19")
@pytest.mark.parametrize("workers", ["0", "-1", "two", "1.5", "100000", ""])
def test_an_invalid_number_of_training_workers_is_refused(outside: Outside, workers: str) -> None:
    outside.refuses("train", "demo", "--out", "run", "--workers", workers, code=2, naming=["--workers"])


@pytest.mark.fault("P19")
def test_another_number_of_workers_than_the_launcher_started_is_refused() -> None:
    environment = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "9"}
    ended = CliRunner().invoke(app, ["train", "demo", "--out", "run", "--workers", "3"], env=environment)
    assert isinstance(ended.exception, UsageError)
    assert str(ended.exception).startswith("--workers 3: the launcher has started 2")


@pytest.mark.fault("P19")
def test_more_workers_than_nodes_are_refused(outside: Outside) -> None:
    outside.write("g/edges.csv", "source,target\na,b\nb,c\n")
    outside.write("g/nodes.csv", "id,label,split,width\na,p,train,1\nb,q,train,0\nc,p,validation,1\n")
    naming = ["workers = 4", "has 3 nodes"]
    outside.refuses(
        "train", "g", "--preset", "consensus", "--out", "run", "--workers", 4, code=2, naming=naming, has_workers=True
    )


@pytest.mark.fault("P10", "P12", "P19")
def test_errors_that_are_known_early_are_raised_before_a_worker_starts(outside: Outside, undisturbed: Path) -> None:
    outside.write_graph()
    outside.accepts("partition", "mygraph", "--validation", 0.3, "--shards", 2, "--out", "shards")
    words = ("train", "shards", "--preset", "consensus", "--out", "new", "--workers", 3)
    outside.refuses(*words, code=2, naming=["2 shards", "--shards 3"])
    shutil.copytree(undisturbed, outside.folder / "run")
    outside.refuses(*TRAIN, "--workers", 2, code=2, naming=["already holds a run"])
    with (outside.folder / "run/run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        outside.refuses(*TRAIN, "--workers", 2, "--resume", code=7, naming=["run: in use by process"])
    outside.refuses(
        "train", "demo", "--method", "gcn", "--workers", 2, code=2, naming=["gcn (preset tuned) cannot be trained"]
    )


@pytest.mark.fault("P17")
def test_a_damaged_shard_is_reported_once(outside: Outside) -> None:
    outside.write_graph()
    outside.accepts("partition", "mygraph", "--validation", 0.3, "--shards", 2, "--out", "shards")
    for part in (0, 1):
        file = outside.folder / f"shards/shard-000{part}/labels.npy"
        file.write_bytes(file.read_bytes()[:-1] + b"x")
    words = ("train", "shards", "--preset", "consensus", "--out", "run", "--workers", 2)
    outside.refuses(*words, code=3, naming=["labels.npy", "corrupt"], has_workers=True)


@pytest.mark.fault("N04")
def test_workers_that_diverge_keep_their_best_weights(outside: Outside) -> None:
    outside.write_graph()
    words = (
        *("train", "mygraph", "--preset", "consensus", *SPLIT, "--out", "run"),
        "--set",
        "optimiser=sgd",
        "--set",
        "learning_rate=1000000",
    )
    ended = outside.run(*words, "--epochs", 60, "--workers", 2, has_workers=True)
    assert ended.code == 5, ended.errors
    assert len(re.findall("are kept in run/best_before_divergence", ended.errors)) == 1
    weights, _ = read_tensors(outside.folder / "run" / "best_before_divergence")
    assert all(tensor.isfinite().all() for tensor in weights.values())
    assert len(weights["label_distribution.raw_mu"]) == 24  # the rows of all parts


@pytest.mark.fault("L01", "L02")
def test_shards_that_cannot_be_trained_on_are_refused_before_a_run_is_created(outside: Outside) -> None:
    outside.write("mygraph/edges.csv", "source,target\na,b\nb,c\nc,d\nd,a\n")
    outside.write("mygraph/nodes.csv", "id,label,split,width\na,p,train,1\nb,p,train,2\nc,q,validation,3\nd,,,4\n")
    outside.accepts("partition", "mygraph", "--shards", 2, "--out", "shards")
    words = ("train", "shards", "--preset", "consensus", "--out", "run", "--workers", 2)
    outside.refuses(*words, code=3, naming=["shards", "fewer than two classes"], has_workers=True)


@pytest.mark.fault("P12", "P17")
def test_a_restarted_job_does_not_resume_a_run_that_it_refused(outside: Outside, undisturbed: Path) -> None:
    outside.write_graph()
    shutil.copytree(undisturbed, outside.folder / "run")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1"]
    command = [*torchrun, "-m", "confgcn", *map(str, TRAIN)]
    done = subprocess.run(command, cwd=outside.folder, capture_output=True, text=True, timeout=1200)
    assert done.returncode != 0
    assert done.stderr.count("already holds a run") == 2, done.stderr  # at the first start and at the second


@pytest.mark.fault("P20")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_port_in_use_is_named(tables: Tables, rank: int) -> None:
    """Started by hand: ``--workers`` takes a port that is free, and where torchrun looks for one is its own affair."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        environment = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        naming = ["127.0.0.1:" + port]
        preset = ("--preset", "consensus")
        tables.refuses_to_train(*preset, code=4, naming=naming, environment=environment, before=MEETING_BRIEFLY)


@pytest.mark.fault("P19", "P20")
def test_an_incomplete_environment_of_a_worker_is_refused(tables: Tables) -> None:
    tables.refuses_to_train(code=2, naming=["RANK is set, but not WORLD_SIZE"], environment={"RANK": "0"})


@pytest.mark.fault("P17", "P18", "P20", "P21")
def test_two_hosts_give_the_result_of_one_and_a_broken_link_ends_both(
    script: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = script("tools/two_hosts.py")
    reason = tool.why_not()
    if reason:
        pytest.skip(reason)
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", running_first(folder)["PYTHONPATH"])
    with tool.two_hosts() as hosts:
        found = tool.trained(folder, hosts, epochs=5) | tool.cut(folder, hosts)
    assert tool.is_as_expected(found), found
    one, other = found["errors_after_cut"]
    assert "worker 1" in one[0]
    assert "has not responded" in one[0]
    assert "worker 1 has had no reply from 10.77.0.1" in other[0]
