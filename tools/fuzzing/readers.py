"""Every function that reads a file of a user, with valid files to damage."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path

import torch
from threadpoolctl import threadpool_limits

from fuzzing import seeds
from fuzzing.graph_readers import graph_readers
from fuzzing.reader import Reader
from fuzzing.row_readers import row_readers
from fuzzing.run_readers import reproduction_readers, run_readers
from fuzzing.settings_readers import settings_readers
from fuzzing.shard_readers import shard_readers


def all_readers(folder: Path) -> dict[str, Reader]:
    """By name; what has to be made first is made in ``folder``, which must be empty."""
    torch.set_num_threads(1)
    threadpool_limits(1)
    with chdir(folder):  # paths that are recorded do not say where it is
        graph = Path("graph")
        seeds.write_graph_tables(graph)
        run, saved = seeds.finished_run(graph), seeds.saved_estimator(graph)
        found = [
            *graph_readers(graph),
            *shard_readers(graph),
            *row_readers(),
            *settings_readers(graph),
            *run_readers(graph, run, saved),
            *reproduction_readers(),
        ]
    return {reader.name: reader for reader in found}
