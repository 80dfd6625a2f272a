"""A disk that is full at every write in turn, a read-only disk, and paths that are not regular files."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.conftest import Ended
    from tests.faults.conftest import Outside

PAGE = 4096  # bytes: what a file of one byte takes of a disk
DISK = 2_000  # pages
FULL = "No space left on device"
TRAIN = (
    *("train", "mygraph", "--validation", 0.3, "--test", 0.2),
    *("--epochs", 2, "--set", "hidden_dim=4", "--out", "run"),
)
TUNE = ("tune", "mygraph", "--validation", 0.3, "--space", "space.toml", "--study", "study.db", "--seeds", 1)
REPRODUCE = ("reproduce", "table2", "--datasets", "demo", "--methods", "feat", "--seeds", 1, "--out", "out")
KINDS = ("json", "safetensors")
CHECKPOINTS = {f"checkpoints/epoch-{epoch:07d}.{kind}" for epoch in (1, 2) for kind in KINDS}
CANDIDATES = {f"search/candidate-{number:02d}.{kind}" for number in (0, 1) for kind in KINDS}  # and so on
EVALUATED = ("evaluation.json", "reliability.svg", "risk_coverage.svg", "groups.svg")
Differences = Callable[[Path, Path], list[str]]


class Disk:
    """A small disk. A file beside the folder of a command takes all but the pages that are to be left."""

    def __init__(self, place: Path) -> None:
        self.place, self.filler = place, place / "filler"
        self.folder = place / "folder"

    def mount(self, *options: str) -> None:
        words = ["mount", "-t", "tmpfs", "-o", ",".join((f"size={DISK * PAGE}", *options)), "tmpfs", str(self.place)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")

    def leave(self, pages: int) -> None:
        self.free()
        found = os.statvfs(self.place)
        self.filler.write_bytes(bytes(found.f_bavail * found.f_bsize - pages * PAGE))

    def free(self) -> None:
        self.filler.unlink(missing_ok=True)

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", str(self.place)], check=True)  # noqa: S607


@pytest.fixture
def disk(tmp_path: Path, outside: Outside) -> Iterator[Disk]:
    """The folder of ``outside`` is on a disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    disk = Disk(place)
    disk.mount()
    disk.folder.mkdir()
    outside.folder = disk.folder
    yield disk
    disk.unmount()


@pytest.fixture(scope="module")
def finished(outside_before: Outside) -> Path:
    """A folder with a graph, a space to search and a run that nothing has happened to."""
    outside_before.write_graph()
    outside_before.write("space.toml", "hidden_dim = [4, 8, 12]\n")
    outside_before.accepts(*TRAIN)
    return outside_before.folder


def pages(content: bytes) -> int:
    return math.ceil(len(content) / PAGE)


def written(ended: Ended) -> str:
    """The file that an error names as not written."""
    found = re.search(r"(?:cannot|could not) write (?:to )?(\S+): ", ended.errors)
    assert found is not None, ended.errors
    return found[1]


@pytest.mark.fault("P06")
@pytest.mark.parametrize(
    ("preset", "saves"),
    [("propagated", False), ("consensus", False), ("consensus", True)],
    ids=["after every candidate and at the end", "at the end", "after every epoch"],
)
def test_a_disk_that_is_full_at_any_write_of_a_training_loses_nothing(
    outside: Outside, disk: Disk, differences: Differences, preset: str, saves: bool
) -> None:
    """The same command over and over, each time with just so much room that it gets one file further."""
    outside.write_graph(nodes=12)
    words = (*TRAIN, "--preset", preset)
    outside.accepts(*words)
    shutil.move(disk.folder / "run", disk.folder / "undisturbed")
    failed, room = [""], 0
    while (ended := trained_with(room, outside, disk, words, saves=saves)).code:
        assert (ended.code, FULL in ended.errors) == (4, True), ended.errors
        failed.append(str(Path(written(ended)).relative_to(disk.folder / "run")))
        assert list(disk.folder.rglob("*.tmp")) == []
        room = room + 1 if room < 2 or failed[-1] == failed[-2] else room if saves else 2
    assert differences(disk.folder / "run", disk.folder / "undisturbed") == []
    assert (CHECKPOINTS if saves else {file.name for file in (disk.folder / "run").iterdir()}) <= set(failed)
    assert preset == "consensus" or set(failed) >= CANDIDATES


def trained_with(room: int, outside: Outside, disk: Disk, words: tuple[Any, ...], *, saves: bool) -> Ended:
    """A training that has so many pages left."""
    disk.leave(room)
    ended = outside.run(*words, *(["--resume"] if room else []), before=outside.saving_always if saves else "")
    disk.free()
    return ended


OUTPUTS = {
    "evaluate": (("evaluate", "run"), [f"run/{name}" for name in EVALUATED]),
    "report": (("report", "run"), ["run/report.html"]),
    "predict": (("predict", "run", "--out", "rows.csv", "--overwrite"), ["rows.csv"]),
    "convert to a file": (("convert", "mygraph", "--out", "graph.npz", "--overwrite"), ["graph.npz"]),
    "convert to tables": (("convert", "mygraph", "--out", "new", "--overwrite"), ["new/nodes.csv", "new/edges.csv"]),
}


@pytest.mark.fault("P06")
@pytest.mark.parametrize(("words", "names"), OUTPUTS.values(), ids=OUTPUTS.keys())
def test_a_full_disk_leaves_earlier_files_unchanged(
    outside: Outside, disk: Disk, finished: Path, words: tuple[str, ...], names: list[str]
) -> None:
    shutil.copytree(finished, disk.folder, dirs_exist_ok=True)
    files = [disk.folder / name for name in names]
    outside.accepts(*words)
    new = [file.read_bytes() for file in files]
    for name in names:
        outside.write(name, b"older")
    for place in {0, len(files) - 1}:
        lock = int((disk.folder / "run") in files[0].parents)
        disk.leave(lock + sum(map(pages, new[: place + 1])) - 1)
        outside.refuses(*words, code=4, naming=[str(files[place]), FULL])
    disk.free()
    outside.accepts(*words)
    assert [file.read_bytes() for file in files] == new


@pytest.mark.fault("P06")
def test_a_search_on_a_full_disk_keeps_its_trials_and_can_be_continued(
    outside: Outside, disk: Disk, finished: Path
) -> None:
    shutil.copytree(finished, disk.folder, dirs_exist_ok=True)
    first = outside.accepts(*TUNE, "--trials", 1).errors
    disk.leave(0)
    outside.refuses(*TUNE, "--trials", 3, code=4, naming=[str(disk.folder / "study.db"), "full"])
    disk.free()
    rest = outside.accepts(*TUNE, "--trials", 3).errors
    assert re.findall(r"trial (\d)", first + rest) == ["0", "1", "2"]


@pytest.mark.fault("P06")
def test_a_disk_that_holds_no_more_files_is_full_too(outside: Outside, disk: Disk, finished: Path) -> None:
    shutil.copytree(finished / "mygraph", disk.folder / "mygraph")
    used = os.statvfs(disk.place)
    for more, name in enumerate(["run", "run/run.lock", "run/config.json", "run/environment.json"]):
        disk.mount("remount", f"nr_inodes={used.f_files - used.f_ffree + more}")
        ended = outside.run(*TRAIN)
        assert (ended.code, written(ended), FULL in ended.errors) == (4, str(disk.folder / name), True), ended.errors
        shutil.rmtree(disk.folder / "run", ignore_errors=True)


@pytest.mark.fault("P06")
def test_a_row_of_results_that_could_not_be_written_is_written_the_next_time(outside: Outside) -> None:
    table = outside.folder / "out" / "results.csv"
    table.parent.mkdir()
    table.symlink_to("/dev/full")
    ended = outside.run(*REPRODUCE, has_workers=True)
    assert (ended.code, written(ended), FULL in ended.errors) == (4, str(table), True), ended.errors
    table.unlink()
    assert "runs needed: 1, already recorded: 0" in outside.accepts(*REPRODUCE, has_workers=True).errors
    assert len(table.read_text().splitlines()) == 2
    assert list((outside.folder / "out" / "runs").iterdir()) == []


READ_ONLY = "Read-only file system"
REFUSED = {
    "train": ((*TRAIN[:-1], "new"), "new"),
    "train without a folder": (TRAIN[:-2], "runs"),
    "train, resumed": ((*TRAIN, "--resume"), "run/run.lock"),
    "train, overwriting": ((*TRAIN, "--overwrite"), "run/run.lock"),
    "evaluate": (("evaluate", "run"), "run/run.lock"),
    "report": (("report", "run"), "run/run.lock"),
    "predict": (("predict", "run", "--out", "rows.csv"), "rows.csv"),
    "convert to a file": (("convert", "mygraph", "--out", "new.npz"), "new.npz"),
    "convert to tables": (("convert", "mygraph", "--out", "new"), "new"),
    "reproduce": (REPRODUCE, "out"),
}


@pytest.fixture(scope="module")
def read_only(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What is finished, on a disk that cannot be written to."""
    disk = Disk(tmp_path_factory.mktemp("disk"))
    disk.mount()
    shutil.copytree(finished, disk.folder)
    disk.mount("remount", "ro")
    yield disk.folder
    disk.unmount()


@pytest.mark.fault("P08")
@pytest.mark.parametrize(("words", "file"), REFUSED.values(), ids=REFUSED.keys())
def test_a_disk_that_cannot_be_written_to_is_named(
    outside: Outside, read_only: Path, words: tuple[Any, ...], file: str
) -> None:
    outside.folder = read_only
    outside.refuses(*words, code=4, naming=[f"{read_only / file}: {READ_ONLY}"])


@pytest.mark.fault("P08")
def test_a_run_on_a_disk_that_cannot_be_written_to_can_be_read(outside: Outside, read_only: Path) -> None:
    for words in (
        ("report", read_only / "run", "--out", "page.html"),
        ("predict", read_only / "run", "--out", "a.csv"),
    ):
        outside.accepts(*words)
        assert (outside.folder / words[-1]).stat().st_size > 0
    outside.accepts("explain", read_only / "run", "n1")


IN_THE_WAY: dict[str, Callable[[Path], Any]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link": lambda path: path.symlink_to("mygraph/nodes.csv"),
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
}


CONVERT, REPORT = ("convert", "mygraph", "--overwrite", "--out", "there.npz"), ("report", "run", "--out", "there.html")


@pytest.mark.fault("P29")
@pytest.mark.parametrize(
    ("words", "kind"),
    [(REPORT, "a link"), *((CONVERT, kind) for kind in IN_THE_WAY)],
    ids=lambda given: given if isinstance(given, str) else given[0],
)
def test_only_regular_files_are_replaced(outside: Outside, finished: Path, words: tuple[str, ...], kind: str) -> None:
    """As root, the name of a device would be enough to take it from everybody."""
    shutil.copytree(finished, outside.folder, dirs_exist_ok=True)
    place = outside.folder / words[-1]
    IN_THE_WAY[kind](place)
    before = place.lstat()
    outside.refuses(*words, code=4, naming=[str(place), "not a regular file"])
    assert place.lstat() == before


# Root may write everywhere; the user nobody may not.
AS_NOBODY = """
import os
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
"""


@pytest.mark.fault("P08")
def test_a_folder_without_permission_is_named(outside: Outside) -> None:
    outside.write_graph()
    (outside.folder / "new").mkdir(mode=0o555)
    naming = [f"{outside.folder / 'new' / 'run'}: Permission denied"]
    outside.refuses(*TRAIN[:-1], "new/run", code=4, naming=naming, before=AS_NOBODY)
