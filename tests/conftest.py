"""Graphs small enough to check by hand, and the way tests find the benchmark files and run the command line."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
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

Command = Callable[..., "subprocess.CompletedProcess[str]"]

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
    """The folder of the benchmark files, or a skip that says what is missing."""
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
    """Dataclasses of a package are values: nobody changes one, and one that holds tensors is compared as a whole."""

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

    def wait(condition: Callable[[], bool], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "what the test waits for did not happen"
            time.sleep(0.002)

    return wait


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Run ``confgcn`` in an empty folder, as a user would."""

    def run(*words: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "confgcn", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=1200,
            **options,
        )

    return run
