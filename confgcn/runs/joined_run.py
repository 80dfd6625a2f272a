"""When all parts of a graph are trained: the first process puts the whole together, judges it and writes it down.

It is the only one that ever needs room for the whole, and takes it in turn: features go when they have said what they
can of the labels, predictions when they are written, and the weights come last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from confgcn.confidence.label_errors import centroid_probabilities
from confgcn.distributed.process_group import ProcessGroup, whole_prediction
from confgcn.distributed.shard_files import ShardFolder
from confgcn.distributed.shards import load_whole
from confgcn.graph import Graph
from confgcn.io.allocator import release_freed_memory
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.runs import outputs
from confgcn.runs.directory import RunDirectory
from confgcn.runs.finished_run import Trained
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.settings import RunSettings, make_method
from confgcn.runs.train import Notify, conclude
from confgcn.training.loop import TrainingLoop
from confgcn.training.selection import Record


@dataclass(frozen=True, eq=False)
class Part:
    """What a process keeps of its training: the method with the rows of its own nodes, the graph without features."""

    method: AbstractMethod
    graph: Graph
    history: list[Record]
    best: Record | None

    @classmethod
    def of(cls, loop: TrainingLoop) -> Part:
        return cls(loop.method, _without_features(loop.graph), loop.history, loop.best)


@dataclass(frozen=True, eq=False)
class Judge:
    """What the first process knows of the whole before it hears what the parts have found.

    The ``graph`` has no features any more, the ``method`` no weights yet; ``model_record`` is what belongs to them.
    """

    graph: Graph
    feature_probabilities: Tensor
    method: AbstractMethod
    model_record: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Whole:
    """What all parts have come to."""

    judge: Judge
    prediction: Prediction
    history: list[Record]
    best: Record | None


@dataclass(frozen=True, eq=False)
class Concluded:
    """What is still to be written when the whole has been judged; the method has no weights yet."""

    method: AbstractMethod
    model_record: dict[str, Any]
    metrics: dict[str, Any]


def join_parts(
    part: Part,
    prediction: Prediction,
    folder: ShardFolder,
    request: RunRequest,
    settings: RunSettings,
    group: ProcessGroup,
) -> Whole | None:
    """Every process says what it has found of its part; the first puts it together."""
    release_freed_memory()
    judge = _judge_of(folder, request, settings) if group.rank == 0 else None
    said = whole_prediction(prediction, part.graph, judge.graph.adjacency if judge else None, group)
    return None if judge is None or said is None else Whole(judge, said, part.history, part.best)


def _judge_of(folder: ShardFolder, request: RunRequest, settings: RunSettings) -> Judge:
    graph = load_whole(folder)
    prepared = settings.data.prepare(graph, seed=request.seed)
    method, record = without_weights(prepared, settings), outputs.model_record(run_config(request), graph)
    return Judge(_without_features(prepared), centroid_probabilities(prepared), method, record)


def _without_features(graph: Graph) -> Graph:
    return graph.with_features(torch.empty(graph.num_nodes, 0))


def conclude_whole(
    directory: RunDirectory, whole: Whole, config: dict[str, Any], *, started: float, notify: Notify
) -> Concluded:
    """Judge the whole and write down what is found."""
    release_freed_memory()
    judge, best = whole.judge, whole.best
    accuracy = None if best is None else best.get("validation_accuracy")
    trained = Trained(
        judge.graph, judge.method, whole.prediction, whole.history, best, accuracy, judge.feature_probabilities
    )
    run = conclude(judge.graph, trained, None, config, started=started, notify=notify)
    release_freed_memory()
    outputs.write_found(directory, run)
    record = judge.model_record | outputs.calibration_record(run.assessment)
    return Concluded(judge.method, record, run.metrics)


def finish_whole(directory: RunDirectory, run: Concluded, weights: dict[str, Tensor], workers: int) -> None:
    """Write the method of the whole, and the metrics last."""
    run.method.load_state_dict(weights, assign=True)
    outputs.write_model(directory.model, run.method, run.model_record)
    directory.finish({**run.metrics, "workers": workers})
    directory.clear_checkpoints()
    directory.clear_shards()


def without_weights(graph: Graph, settings: RunSettings) -> AbstractMethod:
    """The method of the whole graph, which takes weights instead of copying them."""
    with torch.device("meta"):
        return make_method(graph, settings)
