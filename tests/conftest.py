"""Graphs small enough to check by hand, and the way tests find the benchmark files and run the command line."""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import multiprocessing
import os
import pkgutil
import runpy
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from confgcn import kernels
from confgcn.data.synthetic import block_model
from confgcn.graph import Graph
from confgcn.kernels import library
from confgcn.sparse import SparseStructure

torch.set_num_threads(1)  # tests run side by side; on graphs this small a second thread only waits

LONGEST_WAIT = 1200.0  # seconds: only guards against a process that never ends; a busy machine is slow
LOOK_EVERY = 0.01  # seconds
COMMAND_CHILD = Path(__file__).with_name("command_child.py")

# A server that has imported everything once forks a new process in milliseconds; from a clean process, so nothing that
# a test has done is inherited.
processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        *("confgcn.cli.main", "confgcn.cli.streams", "confgcn.cli.progress"),
        *("confgcn.runs.train", "confgcn.runs.saved", "confgcn.models.confgcn.consensus"),
        "torch.fx.experimental.symbolic_shapes",
        "pytest",  # what a process imports again that is forked for it
    ]
)


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code and what it wrote."""

    code: int
    out: str
    errors: str


@dataclass(frozen=True)
class Started:
    """A command that is running."""

    process: ForkServerProcess
    out: Path
    errors: Path

    def wait(self, seconds: float = LONGEST_WAIT) -> Ended:
        """Wait until it ends; a command that takes longer is ended and the test fails."""
        self.process.join(seconds)
        hangs = self.process.is_alive()
        if hangs:
            self.process.kill()
            self.process.join()
        texts = [path.read_text(errors="replace") if path.exists() else "" for path in (self.out, self.errors)]
        assert not hangs, f"still running after {seconds} s: {texts}"
        assert self.process.exitcode is not None
        return Ended(self.process.exitcode, *texts)

    def send(self, number: int) -> None:
        """Send a signal to it alone."""
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def peak(self) -> int:
        """The most memory that it held at once, in kilobytes, until it ended well."""
        status, highest = Path(f"/proc/{self.process.pid}/status"), 0
        deadline = time.monotonic() + LONGEST_WAIT
        while self.process.is_alive() and time.monotonic() < deadline:
            with suppress(OSError, IndexError):  # it has just ended
                highest = int(status.read_text().split("VmHWM:")[1].split()[0])
            self.process.join(LOOK_EVERY)
        ended = self.wait(1.0)
        assert ended.code == 0, ended.errors
        return highest


Command = Callable[..., "subprocess.CompletedProcess[str]"]
StartCommand = Callable[..., Started]

SLOW = ("faults", "properties", "tools")  # folders that `make test` leaves to `make test-all`


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark everything in the slow folders; single slow tests elsewhere carry the mark themselves."""
    here = Path(__file__).parent
    for item in items:
        if item.path.relative_to(here).parts[0] in SLOW:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def same_numbers_every_time() -> None:
    """What a test draws from torch's stream does not change from one call to the next."""
    torch.manual_seed(0)


@pytest.fixture(params=["pure", "compiled"])
def each_kernels(request: pytest.FixtureRequest) -> Iterator[str]:
    """Once with either kernels in use; without the compiled ones their turn is skipped."""
    if request.param == "compiled" and not library.available():
        pytest.skip(library.why_not())
    with kernels.using(request.param):
        yield request.param


ADJACENCIES = ("symmetric", "directed", "hub", "no edges")


@pytest.fixture(params=ADJACENCIES)
def adjacency(request: pytest.FixtureRequest) -> SparseStructure:
    """Eleven nodes; node 4 is isolated, without even a loop, and where edges are directed row 7 is empty."""
    return structure_of(_square(request.param))


@pytest.fixture(params=[*ADJACENCIES, "wide", "tall"])
def structure(request: pytest.FixtureRequest) -> SparseStructure:
    """An adjacency, or a structure that is not square."""
    if request.param in ADJACENCIES:
        return structure_of(_square(request.param))
    drawn = torch.rand(5, 13, generator=torch.Generator().manual_seed(2)) < 0.3
    return structure_of(drawn if request.param == "wide" else drawn.T)


def structure_of(mask: Tensor) -> SparseStructure:
    """Entries where the mask is true."""
    indptr = torch.cat([torch.zeros(1, dtype=torch.long), mask.sum(1).cumsum(0)])
    return SparseStructure(indptr, mask.nonzero()[:, 1].contiguous(), tuple(mask.shape))


def _square(kind: str) -> Tensor:
    mask = torch.rand(11, 11, generator=torch.Generator().manual_seed(1)) < 0.3
    if kind == "no edges":
        return torch.zeros_like(mask)
    if kind == "directed":
        mask[7] = False
    else:
        mask |= mask.T | torch.eye(11, dtype=torch.bool)
    if kind == "hub":
        mask[0] = mask[:, 0] = True
    mask[4] = mask[:, 4] = False
    return mask


@pytest.fixture
def six_nodes() -> Graph:
    """0 - 1 - 2 - 3 in a path, 1 - 3 closing a triangle, 4 hanging on 0, 5 isolated; three classes."""
    return Graph.build(
        edges=[(0, 1), (1, 2), (2, 3), (3, 1), (0, 4)],
        features=np.random.default_rng(0).normal(size=(6, 4)),
        labels=[0, 1, 2, 1, 0, 2],
        train=[0, 1, 2],
        validation=[3],
        test=[4, 5],
        name="six_nodes",
    )


@pytest.fixture
def small_graph() -> Graph:
    """120 nodes of four classes on which a few epochs already learn something."""
    return block_model(120, seed=1)


@pytest.fixture
def data_dir() -> Path:
    """The folder of the benchmark files, or a skip that names what is missing."""
    folder = Path(os.environ.get("CONFGCN_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"the benchmark files are not in {folder}: set CONFGCN_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """Scripts of the repository that are no part of the package, as modules."""

    def load(path: str) -> ModuleType:
        file = Path(__file__).parents[1] / path
        spec = importlib.util.spec_from_file_location(f"scripts.{file.stem}", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where dataclasses look for it
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def check_values() -> Callable[[ModuleType], None]:
    """Dataclasses of a package are immutable, and those with tensors are compared by identity."""

    def check(package: ModuleType) -> None:
        found = _dataclasses_of(package)
        assert found
        for cls in found:
            value = object.__new__(cls)
            for field in cls.__dataclass_fields__:
                with pytest.raises(AttributeError, match="cannot assign"):
                    setattr(value, field, None)
            holds_tensors = any("Tensor" in field.type for field in cls.__dataclass_fields__.values())
            assert (cls.__eq__ is object.__eq__) is holds_tensors, cls

    return check


def _dataclasses_of(package: ModuleType) -> list[Any]:
    names = [f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    members = [(name, member) for name in names for member in vars(importlib.import_module(name)).values()]
    return [
        member
        for name, member in members
        if isinstance(member, type) and is_dataclass(member) and member.__module__ == name
    ]


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., None]:
    """Wait for something another process does; not for ever."""

    def wait(condition: Callable[[], bool], seconds: float = LONGEST_WAIT) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "what the test waits for did not happen"
            time.sleep(0.002)

    return wait


@pytest.fixture(scope="session")
def start_command(tmp_path_factory: pytest.TempPathFactory) -> StartCommand:
    """Start ``confgcn`` in a process of its own that need not import torch again.

    ``environment`` replaces the environment; ``limits`` are those of the operating system, by number of
    ``resource.RLIMIT_*``; ``before`` is Python that the process runs first, to be slow or to die where a test wants it;
    ``has_workers`` lets it start other processes.
    """
    streams, numbers = tmp_path_factory.mktemp("streams"), itertools.count()

    def start(
        *words: Any,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        limits: Mapping[int, int] | None = None,
        before: str = "",
        has_workers: bool = False,
    ) -> Started:
        number = next(numbers)
        out, errors = (streams / f"{number}.{stream}" for stream in ("out", "err"))
        given = {
            "words": [str(word) for word in words],
            "folder": str(folder),
            "environment": dict(os.environ if environment is None else environment),
            "limits": dict(limits or {}),
            "before": before,
            "out": str(out),
            "errors": str(errors),
        }
        arguments = (str(COMMAND_CHILD), {"given": given})
        process = processes.Process(target=runpy.run_path, args=arguments, daemon=not has_workers)
        process.start()
        return Started(process, out, errors)

    return start


@pytest.fixture(scope="session")
def command_in(start_command: StartCommand) -> Command:
    """Run ``confgcn`` in a folder, to its end."""

    def run(folder: Path, *words: Any, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        ended = start_command(*words, folder=folder, environment=env, has_workers=True).wait()
        return subprocess.CompletedProcess(words, ended.code, ended.out, ended.errors)

    return run


@pytest.fixture
def command(tmp_path: Path, command_in: Command) -> Command:
    """Run ``confgcn`` in an empty folder, as a user would."""
    return partial(command_in, tmp_path)


@pytest.fixture
def new_command(tmp_path: Path) -> Command:
    """The same in a new interpreter: ``python -m confgcn`` imports everything itself, which takes two seconds."""

    def run(*words: Any, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "confgcn", *map(str, words)]
        return subprocess.run(program, capture_output=True, text=True, cwd=tmp_path, timeout=LONGEST_WAIT, env=env)

    return run
