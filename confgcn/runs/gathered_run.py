"""The end of a training by several workers: the first one gathers the predictions, assesses and writes the run.

It is the only worker that needs memory for the whole graph. It needs it in turn: the features are dropped once the
labels have been compared with them, the predictions once they are written, and the weights come last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from confgcn.confidence.label_errors import centroid_probabilities
from confgcn.distributed.process_group import ProcessGroup, gathered_prediction
from confgcn.distributed.shard_files import ShardFolder
from confgcn.distributed.shards import load_all_shards
from confgcn.graph import Graph
from confgcn.io.allocator import release_freed_memory
from confgcn.models.base import AbstractMethod, Prediction
from confgcn.runs import saved
from confgcn.runs.directory import RunDirectory
from confgcn.runs.features_alone import features_alone
from confgcn.runs.fitted import Notify
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.run import Run
from confgcn.runs.run_metrics import training_metrics
from confgcn.runs.settings import RunSettings, make_method
from confgcn.runs.train import notify_held_out
from confgcn.training.loop import TrainingLoop
from confgcn.training.selection import Record


@dataclass(frozen=True, eq=False)
class ShardResult:
    """What a worker keeps of its training: the method with the rows of its own nodes, its graph without features."""

    method: AbstractMethod
    graph: Graph
    history: list[Record]
    best: Record | None

    @classmethod
    def of(cls, loop: TrainingLoop) -> ShardResult:
        return cls(loop.method, _without_features(loop.graph), loop.history, loop.best)


@dataclass(frozen=True, eq=False)
class RemainingFiles:
    """What remains to be written after the predictions: the method, still without weights, and the metrics."""

    method: AbstractMethod
    model_record: dict[str, Any]
    metrics: dict[str, Any]


def gather_and_write(
    directory: RunDirectory,
    result: ShardResult,
    prediction: Prediction,
    folder: ShardFolder,
    request: RunRequest,
    settings: RunSettings,
    group: ProcessGroup,
    *,
    started: float,
    notify: Notify,
) -> RemainingFiles | None:
    """Every worker sends the prediction of its shard; the first assesses and writes the whole, the others get None."""
    release_freed_memory()
    if group.rank:
        gathered_prediction(prediction, result.graph, None, group)
        return None
    loaded, config = load_all_shards(folder), run_config(request)
    prepared = settings.data.prepare(loaded, seed=request.seed)
    certifying = settings.data.certifying_nodes(loaded, seed=request.seed)
    record, feature_probabilities = saved.model_record(config, loaded), centroid_probabilities(prepared)
    held_out = certifying if len(certifying) else prepared.validation
    by_features = features_alone(prepared, held_out, seed=request.seed)
    graph, method = _without_features(prepared), without_weights(prepared, settings)
    del loaded, prepared  # with the features, before the predictions arrive
    gathered = gathered_prediction(prediction, result.graph, graph.adjacency, group)
    assert gathered is not None
    run = Run(config, settings, method, graph=graph, history=result.history)
    run.prepared, run.prediction, run.certifying_nodes = graph, gathered, certifying
    notify_held_out(run, notify)
    release_freed_memory()
    run.assessment = run.assess_prediction(feature_probabilities=feature_probabilities)
    metrics = training_metrics(run, result.best, by_features=by_features, started=started)
    release_freed_memory()
    saved.write_results(directory, run)
    return RemainingFiles(method, record | saved.calibration_record(run.assessment), metrics)


def finish_gathered(directory: RunDirectory, rest: RemainingFiles, weights: dict[str, Tensor], workers: int) -> None:
    """Write the method of the whole graph, and the metrics last."""
    rest.method.load_state_dict(weights, assign=True)
    saved.write_model(directory.model, rest.method, rest.model_record)
    directory.finish({**rest.metrics, "workers": workers})
    directory.clear_checkpoints()
    directory.clear_shards()


def without_weights(graph: Graph, settings: RunSettings) -> AbstractMethod:
    """The method of the whole graph on the meta device: it takes the weights over instead of copying them."""
    with torch.device("meta"):
        return make_method(graph, settings)


def _without_features(graph: Graph) -> Graph:
    return graph.with_features(torch.empty(graph.num_nodes, 0))
