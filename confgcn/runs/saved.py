"""Write a finished run into its directory, and read it again."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from confgcn import kernels
from confgcn.confidence.assessment import Assessment
from confgcn.confidence.calibration import Calibration
from confgcn.data.datasets import load_dataset
from confgcn.data.formats.npz import graph_npz_bytes, read_graph_npz
from confgcn.data.graph_names import GRAPH_NAMES
from confgcn.data.input_files import naming
from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError, brief
from confgcn.graph import EdgeCounts, Graph
from confgcn.io.atomic_files import write_atomic, write_blocks
from confgcn.io.checksums import verify
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.io.locks import check_unlocked
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.models.base import AbstractMethod, Prediction, Shape
from confgcn.models.registry import ensemble_class
from confgcn.runs.directory import RunDirectory, flattened
from confgcn.runs.predictions import disagreeing_edges_table, label_errors_table, prediction_blocks
from confgcn.runs.records import check_model_record, read_history, read_metrics
from confgcn.runs.run import Run
from confgcn.runs.settings import RunSettings, hyperparameters
from confgcn.runs.stored_graph import recorded_graph
from confgcn.runs.tables import csv_blocks, csv_bytes
from confgcn.training.recipe import validated
from confgcn.training.seed import seeded
from confgcn.training.selection import Record

LIBRARIES = ("confgcn", "torch", "numpy", "scipy", "safetensors", "pyarrow")


def software() -> dict[str, Any]:
    """The versions that the bits of a result can depend on."""
    return {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "kernels": kernels.active_name(),
    }


def record_environment(path: Path, fingerprint: str, notices: Sequence[str]) -> list[str]:
    """Write versions, threads and the hash of the input, or compare them with those a run began with.

    Another graph is an error; returns a notice for everything else that a result's bits can depend on.
    """
    now = {
        **software(),
        "platform": platform.platform(),
        "threads": torch.get_num_threads(),
        "graph_sha256": fingerprint,
        "notices": list(notices),
    }
    if not path.is_file():
        write_checksummed_json(path, now)
        return []
    recorded, current = flattened(read_checksummed_json(path)), flattened(now)
    if recorded.get("graph_sha256") != fingerprint:
        raise DataError(f"{path.parent}: cannot resume, the run began with another graph")
    return [
        f"{key} was {brief(repr(recorded.get(key)))} when the run began, now {value!r}: the result may differ in its "
        "last bits"
        for key, value in current.items()
        if recorded.get(key) != value
    ]


def save_run(directory: RunDirectory, run: Run) -> None:
    """Write a run directory that holds a copy of the graph, whatever its name."""
    directory.start(run.config)
    record_environment(directory.environment, run.graph.fingerprint, run.graph.notices())
    write_graph_copy(directory, run.graph)
    write_run(directory, run)


def write_run(directory: RunDirectory, run: Run) -> None:
    """All files of a finished run but the graph."""
    write_results(directory, run)
    record = model_record(run.config, run.graph) | members_record(run.method) | calibration_record(run.assessment)
    write_model(directory.model, run.method, record)
    directory.finish(run.metrics)


def write_results(directory: RunDirectory, run: Run) -> None:
    """History, predictions, label errors, disagreeing edges, held-out predictions."""
    write_history(directory.history, run.history)
    write_blocks(directory.predictions, csv_blocks(prediction_blocks(run)))
    for file, table in (
        (directory.label_errors, label_errors_table(run)),
        (directory.disagreeing_edges, disagreeing_edges_table(run)),
    ):
        write_atomic(file, csv_bytes(table))
    if run.held_out is not None:
        write_held_out(directory.held_out, run.held_out)


def write_graph_copy(directory: RunDirectory, graph: Graph) -> None:
    """A copy of a graph that cannot be loaded again by name; without it the weights of single nodes are useless."""
    content = graph_npz_bytes(raw_from_graph(graph))
    if not directory.graph.is_file() or directory.graph.read_bytes() != content:
        write_atomic(directory.graph, content)


def write_held_out(stem: Path, prediction: Prediction) -> None:
    """The predictions for training nodes by trainings that did not see their labels."""
    tensors = {"logits": prediction.logits, "precision": prediction.precision}
    write_tensors(stem, {name: value.detach() for name, value in tensors.items() if value is not None}, {})


def read_held_out(stem: Path, shape: Shape) -> Prediction | None:
    """Read what :func:`write_held_out` wrote for a graph of that shape; None where a run has no such file."""
    if not stem.with_suffix(".json").is_file():
        return None
    tensors, _ = read_tensors(stem)
    expected = torch.zeros(shape.num_nodes, shape.num_classes, device="meta")
    check_weights(stem.with_suffix(".safetensors"), tensors, dict.fromkeys({"logits", *tensors}, expected))
    return Prediction(tensors["logits"], precision=tensors.get("precision"))


def check_weights(path: Path, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    """Refuse tensors whose names, shapes or types are not the expected ones, or that are not finite."""
    if tensors.keys() != expected.keys():
        differing = ", ".join(sorted(tensors.keys() ^ expected.keys()))
        raise CorruptFileError(f"{path}: corrupt, it lacks or should not hold {brief(differing)}")
    for name, tensor in tensors.items():
        if (tensor.shape, tensor.dtype) != (expected[name].shape, expected[name].dtype):
            raise CorruptFileError(f"{path}: corrupt, {name} has the shape {tuple(tensor.shape)} and {tensor.dtype}")
        if not torch.isfinite(tensor).all():
            raise CorruptFileError(f"{path}: corrupt, {name} holds numbers that are not finite")


def write_model(stem: Path, method: AbstractMethod, record: dict[str, Any]) -> None:
    """Weights, and the record that belongs to them."""
    write_tensors(stem, method.state_dict(), record)


def model_record(config: dict[str, Any], graph: Graph) -> dict[str, Any]:
    """What is needed to rebuild the method, and the fingerprint of the graph it was trained on."""
    return {"config": config, "shape": Shape.of(graph).to_json(), "graph_sha256": graph.training_view().fingerprint}


def members_record(method: AbstractMethod) -> dict[str, Any]:
    """The options of the members of an ensemble."""
    return {} if method.member_options is None else {"members": method.member_options}


def calibration_record(assessment: Assessment) -> dict[str, Any]:
    """How logits become probabilities."""
    return {"calibration": assessment.calibration.to_json()}


def write_history(path: Path, history: Sequence[Record]) -> None:
    """One JSON object per epoch."""
    write_atomic(path, "".join(json.dumps(record) + "\n" for record in history).encode())


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
        maker = _maker(settings, shape, record.get("members"))
        method = _rebuilt(directory.model.with_suffix(".safetensors"), tensors, maker)
        calibration = _calibration(record)
    except (TypeError, RuntimeError, UsageError) as error:
        raise CorruptFileError(f"{file}: describes no method of this version ({brief(error)})") from None

    def checked_graph() -> Graph:
        loaded = _graph_of(directory, config, data_dir) if graph is None else graph
        _check_graph(loaded, shape, record["graph_sha256"])
        return loaded

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


def _rebuilt(file: Path, tensors: dict[str, Tensor], make: Callable[[], AbstractMethod]) -> AbstractMethod:
    with torch.device("meta"):  # a recorded size without weights of that size must not allocate memory
        check_weights(file, tensors, make().state_dict())
    with seeded(0):  # the weights drawn here are replaced; the caller's random state is not advanced
        method = make()
    method.load_state_dict(tensors)
    return method.eval()


def _maker(settings: RunSettings, shape: Shape, members: list[dict[str, Any]] | None) -> Callable[[], AbstractMethod]:
    """What builds the method of a run, or the ensemble that a search ended with."""
    if members is None:
        return lambda: settings.method_class(shape, **settings.model)
    ensemble = ensemble_class(settings.method, settings.preset)
    if ensemble is None:
        raise UsageError(f"preset {settings.preset} of {settings.method} has no ensembles")
    options = [
        validated(hyperparameters(settings.method_class), each, where="members").model_dump() for each in members
    ]
    return lambda: ensemble(shape, options)


def _calibration(record: dict[str, Any]) -> Calibration:
    given = record.get("calibration")  # weights kept from before a divergence have none
    return Calibration() if given is None else Calibration.from_json(given)
