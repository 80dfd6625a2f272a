"""Shards small enough to check by hand, and a way to forge them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.distributed.launch import LOOPBACK, _environment
from confgcn.distributed.rendezvous import FIRST_START, START, serve_store
from confgcn.distributed.shard_files import MANIFEST
from confgcn.distributed.shards import write_shards
from confgcn.graph import Graph
from confgcn.io.checksums import file_digest
from confgcn.io.json_files import read_checksummed_json, to_json, write_checksummed_json

SHARDS = torch.tensor([0, 0, 0, 1, 1, 2])
ABOUT = {"is_named": False, "split_seed": 0, "partitioned_by": "hash", "suited_scaling": "rows"}


def path_of_six(*, sparse: bool) -> Graph:
    """0-1-2-3-4-5, cut between 2 and 3 and between 4 and 5."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    features = np.array([[1, 2], [0, 1], [3, 0], [0, 0], [1, 1], [0, 5]], dtype=np.float32)
    labels = [0, 1, 0, 1, -1, -1]
    split = {"train": [0, 1], "validation": [2], "test": [3]}
    names = ["a", "b", "c", "d", "e", "f"]
    return Graph.build(edges, sp.csr_matrix(features) if sparse else features, labels, **split, node_names=names)


def written(folder: Path, *, sparse: bool) -> Path:
    columns = torch.tensor([[1.0, 2.0], [0.5, 0.0]], dtype=torch.double)
    write_shards(folder, path_of_six(sparse=sparse), SHARDS, ABOUT, columns)
    return folder


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    return written(tmp_path / "shards", sparse=False)


@pytest.fixture
def sparse_shards(tmp_path: Path) -> Path:
    return written(tmp_path / "sparse", sparse=True)


@pytest.fixture
def forge() -> Callable[[Path, str, Any], None]:
    """Put another array, or other JSON, in the place of a file, with checksums that fit."""

    def replaced(folder: Path, name: str, content: Any) -> None:
        file = folder / name
        if file.suffix == ".npy":
            np.save(file, content)
        else:
            file.write_bytes(to_json(content))
        record = read_checksummed_json(folder / MANIFEST)
        record["files"][name] = file_digest(file)
        write_checksummed_json(folder / MANIFEST, record)

    return replaced


# Runs the lines of a test, which set `found`, in one of several workers.
WORKER = """
import json, sys
import torch
from confgcn.distributed.exchange import make_exchange
from confgcn.distributed.process_group import joined_group
with joined_group() as group:
    exec(sys.argv[1])
    print(json.dumps(found))
"""


@pytest.fixture(scope="session")
def in_two_workers() -> Callable[[str], list[Any]]:
    """Run lines of code in two processes of one group; returns what each has ``found``, by rank."""

    def run(lines: str) -> list[Any]:
        store, port = serve_store(socket.create_server((LOOPBACK, 0)))
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, lines],
                env={**_environment(rank, 2, port, "test"), START: FIRST_START},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(2)
        ]
        outputs = [worker.communicate()[0] for worker in workers]
        assert [worker.returncode for worker in workers] == [0, 0]
        del store  # which was served until here
        return [json.loads(output) for output in outputs]

    return run
