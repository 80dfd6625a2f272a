"""Two processes and one directory: the second is refused, or gets another; an abandoned lock is taken over."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Started
    from tests.faults.conftest import Outside

TRAIN = ("train", "mygraph", "--validation", 0.3, "--test", 0.2, "--epochs", 2)
RUN = (*TRAIN, "--out", "run")
READERS = (("report", "run"), ("evaluate", "run"), ("predict", "run", "--out", "rows.csv"), ("explain", "run", "n1"))
OTHERS = (RUN, (*RUN, "--resume"), (*RUN, "--overwrite"), *READERS)
Differences, WaitUntil = Callable[[Path, Path], list[str]], Callable[..., None]

# Training begins when the file "go" is there.
WAITING = """
import time
from pathlib import Path
from confgcn.training.checkpoint import Checkpointer, StopOnSignal
def waiting(on_start):
    def wait(self, loop):
        Path("waits").touch()
        while not Path("go").exists():
            time.sleep(0.01)
        on_start(self, loop)
    return wait
for callback in (Checkpointer, StopOnSignal):
    callback.on_start = waiting(callback.on_start)
"""
# The run directory is chosen and claimed when two processes have come so far.
TOGETHER = """
import os, time
from pathlib import Path
from confgcn.runs import train as runs
def together(work):
    def wait(*words, **options):
        Path(f"{os.getpid()}.here").touch()
        while len(list(Path().glob("*.here"))) < 2:
            pass
        return work(*words, **options)
    return wait
runs.%(name)s = together(runs.%(name)s)
"""


@pytest.fixture(scope="module")
def finished(outside_before: Outside) -> Path:
    """A folder with a graph and a run that nothing has happened to."""
    outside_before.write_graph()
    outside_before.accepts(*RUN)
    return outside_before.folder


@pytest.fixture
def graph(outside: Outside) -> Outside:
    outside.write_graph()
    return outside


@pytest.fixture
def training(graph: Outside, wait_until: WaitUntil) -> Started:
    """A run that has begun and waits."""
    started = graph.start(*RUN, before=WAITING)
    wait_until((graph.folder / "waits").exists)
    return started


@contextmanager
def locked(folder: Path, text: str = "") -> Iterator[None]:
    """This process, which is none of ours, holds the lock."""
    folder.mkdir(exist_ok=True)
    with (folder / "run.lock").open("w") as lock:
        lock.write(text)
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.mark.fault("P10")
def test_a_run_in_training_is_refused_to_others_with_the_process_that_uses_it(
    graph: Outside, training: Started, differences: Differences, finished: Path
) -> None:
    for words in OTHERS:
        graph.refuses(*words, code=7, naming=["run: in use by process", str(training.process.pid)])
    graph.write("go", "")
    assert training.wait().code == 0
    assert differences(graph.folder / "run", finished / "run") == []


@pytest.mark.fault("P10")
def test_two_runs_started_together_without_a_directory_get_one_each(
    graph: Outside, differences: Differences, finished: Path
) -> None:
    both = [graph.start(*TRAIN, before=TOGETHER % {"name": "free_directory"}) for _ in range(2)]
    assert [started.wait().code for started in both] == [0, 0]
    runs = list((graph.folder / "runs").iterdir())
    assert len(runs) == 2
    assert [differences(run, finished / "run") for run in runs] == [[], []]


@pytest.mark.fault("P10")
def test_one_of_two_runs_started_together_in_one_directory_is_refused(
    graph: Outside, differences: Differences, finished: Path
) -> None:
    both = [graph.start(*RUN, before=TOGETHER % {"name": "claimed"}) for _ in range(2)]
    assert sorted(started.wait().code for started in both) in ([0, 7], [0, 2])  # two: the other was done already
    assert differences(graph.folder / "run", finished / "run") == []


@pytest.mark.fault("P10")
def test_two_processes_that_write_one_file_leave_one_complete_file(outside: Outside) -> None:
    graphs = [outside.write_graph("small", nodes=9), outside.write_graph("large", nodes=99)]
    for graph in graphs:
        outside.accepts("convert", graph, "--out", f"{graph.name}.npz")
    both = [
        outside.start("convert", graph, "--out", "new.npz", "--overwrite", before=outside.writing_slowly)
        for graph in graphs
    ]
    assert [started.wait().code for started in both] == [0, 0]
    alone = [graph.with_suffix(".npz").read_bytes() for graph in graphs]
    assert (outside.folder / "new.npz").read_bytes() in alone
    assert list(outside.folder.glob("*.tmp")) == []


@pytest.mark.fault("P10")
@pytest.mark.parametrize(
    ("words", "text", "named"),
    [(RUN, "", "unknown"), (RUN, "\x1b[2J", "unknown"), (RUN, "4711\n", "4711"), (("report", "run"), "4711", "4711")],
)
def test_a_lock_held_by_another_program_is_respected(
    outside: Outside, finished: Path, words: tuple[Any, ...], text: str, named: str
) -> None:
    shutil.copytree(finished, outside.folder, dirs_exist_ok=True)
    with locked(outside.folder / "run", text):
        outside.refuses(*words, code=7, naming=[f"run: in use by process {named}\n"])


@pytest.mark.fault("P10")
def test_a_reproduction_cannot_use_the_folder_of_another(outside: Outside) -> None:
    with locked(outside.folder / "out", "4711"):
        words = ("reproduce", "table2", "--datasets", "demo", "--out", "out")
        outside.refuses(*words, code=7, naming=["out: in use by process 4711"])


@pytest.mark.fault("P11")
def test_the_lock_of_a_killed_process_is_taken_over_with_a_notice(
    graph: Outside, training: Started, differences: Differences, finished: Path
) -> None:
    training.process.kill()
    assert training.wait().code == -signal.SIGKILL
    graph.refuses(*RUN, code=2, naming=["run: already holds a run", "--resume"])
    resumed = graph.accepts(*RUN, "--resume")
    assert f"took over from process {training.process.pid}, which ended without finishing" in resumed.errors
    assert differences(graph.folder / "run", finished / "run") == []
    assert "took over" not in graph.accepts(*RUN, "--resume").errors


@pytest.mark.fault("P11")
@pytest.mark.parametrize(
    ("text", "named"),
    [(str(os.getpid()), str(os.getpid())), ("\udcff" * 9, "unknown"), ("9" * 99, "9" * 20)],
    ids=["a process that lives", "no text", "no process"],
)
def test_the_holder_of_a_lock_counts_and_not_its_content(
    graph: Outside, differences: Differences, finished: Path, text: str, named: str
) -> None:
    """The number may be that of a process which came later; it may be no number at all."""
    graph.write("run/run.lock", text.encode(errors="surrogateescape"))
    assert f"took over from process {named}, which" in graph.accepts(*RUN).errors
    assert differences(graph.folder / "run", finished / "run") == []


IN_PLACE_OF_A_LOCK: dict[str, Callable[[Path], Any]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a link": lambda path: path.symlink_to("../mygraph/nodes.csv"),
    "a link to nothing": lambda path: path.symlink_to("../nowhere"),
}


@pytest.mark.fault("P11")
@pytest.mark.parametrize("make", IN_PLACE_OF_A_LOCK.values(), ids=IN_PLACE_OF_A_LOCK.keys())
@pytest.mark.parametrize("words", [RUN, (*RUN, "--overwrite")], ids=["train", "overwrite"])
def test_links_and_folders_in_place_of_a_lock_are_neither_followed_nor_removed(
    graph: Outside, words: tuple[Any, ...], make: Callable[[Path], Any]
) -> None:
    lock = graph.folder / "run" / "run.lock"
    lock.parent.mkdir()
    make(lock)
    before = lock.lstat()
    graph.refuses(*words, code=4, naming=[str(lock)])
    assert lock.lstat() == before


@pytest.mark.fault("P12")
@pytest.mark.parametrize("unfinished", [False, True], ids=["finished", "unfinished"])
def test_a_directory_that_holds_a_run_is_left_unchanged(outside: Outside, finished: Path, unfinished: bool) -> None:
    shutil.copytree(finished, outside.folder, dirs_exist_ok=True)
    if unfinished:
        (outside.folder / "run" / "metrics.json").unlink()
    for words in (RUN, (*RUN, "--seeds", 2), (*RUN, "--seed", 5)):
        outside.refuses(*words, code=2, naming=["run: already holds a run", "--resume", "--overwrite"])
    outside.refuses(*RUN, "--seed", 5, "--resume", code=2, naming=["seed: 0 there, 5 now"])


@pytest.mark.fault("P12")
@pytest.mark.parametrize("option", [(), ("--resume",), ("--overwrite",)], ids=["nothing", "resume", "overwrite"])
@pytest.mark.parametrize("name", ["notes.txt", "config.json", "seed-0/notes.txt", "config.json.tmp.mine"])
def test_a_directory_with_other_files_is_left_unchanged(graph: Outside, option: tuple[str, ...], name: str) -> None:
    graph.write(f"run/{name}", '{"mine": 1}')
    graph.refuses(*RUN, *option, code=2, naming=["run: is not empty and holds no run"])


@pytest.mark.fault("P12")
@pytest.mark.parametrize("option", [(), ("--resume",), ("--overwrite",)], ids=["nothing", "resume", "overwrite"])
def test_a_file_in_place_of_the_directory_is_left_unchanged(graph: Outside, option: tuple[str, ...]) -> None:
    graph.write("run", "mine")
    graph.refuses(*RUN, *option, code=2, naming=["run: exists and is not a directory"])


@pytest.mark.fault("P12")
def test_overwriting_removes_what_a_run_wrote_and_nothing_else(
    graph: Outside, differences: Differences, finished: Path
) -> None:
    graph.accepts(*RUN, "--seeds", 2)
    mine = ["notes.txt", "model.notes", "draft.tmp", "metrics.json.notes.tmp", "seed-9/notes.txt", "seed-1/notes.txt"]
    mine += ["checkpoints/epoch.txt", "report/index.html"]
    for name in mine:
        graph.write(f"run/{name}", "mine")
    graph.accepts(*RUN, "--overwrite")
    assert [(graph.folder / "run" / name).read_text() for name in mine] == ["mine"] * len(mine)
    folders = {str(folder) for name in mine for folder in Path(name).parents} - {"."}
    assert differences(graph.folder / "run", finished / "run") == sorted({*mine, *folders})
