"""Read a run directory: the trained method now, everything else when it is used."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from confgcn.confidence.calibration import Calibration
from confgcn.data.datasets import load_dataset
from confgcn.data.formats.npz import read_graph_npz
from confgcn.data.graph_names import GRAPH_NAMES
from confgcn.data.input_files import naming
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError, brief
from confgcn.graph import EdgeCounts, Graph
from confgcn.io.checksums import verify
from confgcn.io.locks import check_unlocked
from confgcn.io.tensor_files import read_tensors
from confgcn.models.base import AbstractMethod, Shape
from confgcn.runs.directory import RunDirectory
from confgcn.runs.outputs import check_weights, read_held_out
from confgcn.runs.run import Run
from confgcn.runs.run_records import check_model_record, read_history, read_metrics
from confgcn.runs.settings import RunSettings
from confgcn.runs.stored_graph import recorded_graph
from confgcn.training.seed import seeded


def load_run(run: Path | str, *, graph: Graph | None = None, data_dir: Path | str | None = None) -> Run:
    """Read the run in a directory; every file must be as it was when the run ended.

    ``graph`` saves reading the graph of the training again, where it is in memory. ``data_dir`` is the folder of the
    benchmark files, where the run was trained on one of them.
    """
    directory = RunDirectory(Path(run))
    _check_finished(directory)
    verify(directory.path)
    tensors, record = read_tensors(directory.model)
    file = directory.model.with_suffix(".json")
    check_model_record(file, record)
    config, shape = record["config"], Shape(**record["shape"])
    try:
        settings = RunSettings.from_config(config)
        method = _rebuilt(directory.model.with_suffix(".safetensors"), tensors, settings, shape)
        calibration = _calibration(record)
    except (TypeError, RuntimeError, UsageError) as error:
        raise CorruptFileError(f"{file}: describes no method of this version ({brief(error)})") from None

    def checked_graph() -> Graph:
        found = _graph_of(directory, config, data_dir) if graph is None else graph
        _check_graph(found, shape, record["graph_sha256"])
        return found

    return Run(
        config,
        settings,
        method,
        graph=checked_graph,
        history=lambda: read_history(directory.history),
        metrics=lambda: read_metrics(directory.metrics),
        held_out=read_held_out(directory.held_out, shape),
        calibration=calibration,
        path=directory.path,
    )


def _check_graph(graph: Graph, shape: Shape, fingerprint: str) -> None:
    if Shape.of(graph) != shape:
        raise DataError(f"{graph.name}: the method was trained on {shape}, this graph has {Shape.of(graph)}")
    if graph.training_view().fingerprint != fingerprint:
        raise DataError(f"{graph.name}: not the graph the method was trained on, though its shape is the same")


def _graph_of(directory: RunDirectory, config: dict[str, Any], data_dir: Path | str | None) -> Graph:
    """The graph as it was loaded: the copy in the run directory, a graph stored elsewhere, or a built-in data set."""
    if directory.graph.is_file():
        with naming(directory.graph):
            graph = read_graph_npz(directory.graph).build()
        unique = graph.edge_counts.unique  # the copy lists every edge once, whatever the files did
        counts = EdgeCounts(listed=2 * unique, duplicates=0, loops=0, one_way=0, unique=unique)
        return replace(graph, name=config["dataset"], edge_counts=counts)
    stored = recorded_graph(config)
    if stored is not None:
        return replace(stored, name=config["dataset"])
    if config["dataset"] not in GRAPH_NAMES or "input" in config:
        raise ResourceError(f"{directory.graph.absolute()}: missing; it held the graph the run was trained on")
    return load_dataset(config["dataset"], data_dir=data_dir, split_seed=config["split_seed"])


def _check_finished(directory: RunDirectory) -> None:
    seeds = sorted(path.parent.name for path in directory.path.glob("seed-*/model.json"))
    if directory.finished and not seeds:
        return
    with suppress(OSError):  # a lock that cannot be opened does not matter here
        check_unlocked(directory.path)
    hint = "; finish it with the command that began it and --resume" if directory.holds_run else ""
    if seeds:
        hint = f"; it holds runs of several seeds, name one of them: {', '.join(seeds[:3])}"
    raise ResourceError(f"{directory.path.absolute()}: holds no finished run{hint}")


def _rebuilt(file: Path, tensors: dict[str, Tensor], settings: RunSettings, shape: Shape) -> AbstractMethod:
    make = settings.method_class
    with torch.device("meta"):  # a recorded size without weights of that size must not allocate memory
        check_weights(file, tensors, make(shape, **settings.model).state_dict())
    with seeded(0):  # the weights drawn here are replaced; the caller's random state is not advanced
        method = make(shape, **settings.model)
    method.load_state_dict(tensors)
    return method.eval()


def _calibration(record: dict[str, Any]) -> Calibration:
    given = record.get("calibration")  # weights kept from before a divergence have none
    return Calibration() if given is None else Calibration.from_json(given)
