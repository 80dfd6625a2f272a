"""Graphs small enough to check by hand, and the way tests find the benchmark files and run the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from confgcn.data.synthetic import block_model
from confgcn.graph import Graph

torch.set_num_threads(1)  # tests run side by side; on graphs this small a second thread only waits

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def same_numbers_every_time() -> None:
    """What a test draws from torch's stream does not change from one call to the next."""
    torch.manual_seed(0)


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


@pytest.fixture
def command(tmp_path: Path) -> Command:
    """Run ``confgcn`` in an empty folder, as a user would."""

    def run(*words: Any, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "confgcn", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=120,
            **options,
        )

    return run
