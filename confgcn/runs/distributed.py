"""Train one method with several workers, each with a shard of the graph, into one run directory."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

from confgcn.distributed.held_out import choosing_nodes_of_shard
from confgcn.distributed.process_group import ProcessGroup, gathered_weights, joined_group
from confgcn.distributed.shard_check import check_shards
from confgcn.distributed.shard_files import SPLIT, ShardFolder, is_shard_folder
from confgcn.distributed.shards import load_all_shards, load_shard
from confgcn.exceptions import ConfGCNError, DataError, DivergedError, UsageError, brief
from confgcn.graph import Graph
from confgcn.io.memory import check_memory
from confgcn.io.signals import StopRequest, stop_request
from confgcn.io.threads import computing_with
from confgcn.models.base import Prediction
from confgcn.runs import saved
from confgcn.runs.cross_validation import check_fittable, needs_cross_fitting
from confgcn.runs.directory import IfExists, RunDirectory, claimed, refuse_link
from confgcn.runs.fitted import Notify
from confgcn.runs.gathered_run import ShardResult, finish_gathered, gather_and_write, without_weights
from confgcn.runs.records import read_metrics
from confgcn.runs.request import RunRequest, run_config, settings_notices
from confgcn.runs.settings import RunSettings, make_method
from confgcn.runs.stored_graph import ShardedGraph, columns_of, make_shards, partition_notices
from confgcn.runs.train import resumable, summarise
from confgcn.training.batches import check_batches
from confgcn.training.callbacks import Callback
from confgcn.training.checkpoint import Checkpointer, resume_from
from confgcn.training.loop import TrainingLoop
from confgcn.training.seed import seeded
from confgcn.training.selection import needs_validation

BEGUN = "begun"  # key of a job that has begun its run directory


def train_distributed(
    request: RunRequest, *, notify: Notify, callbacks: Sequence[Callback] = ()
) -> dict[str, Any] | None:
    """Train one run with all workers of a job; the first worker gets the summary, the others None.

    The first worker reads the graph, unless it is in shards already, and writes the run. All workers must see the
    run directory.
    """
    started, (out, settings) = time.monotonic(), check_request(request, int(os.environ["WORLD_SIZE"]))
    with resumable(out), stop_request() as stop, computing_with(request.threads):
        stop.at_once = True  # while there is nothing to save
        with joined_group() as group, ExitStack() as held:
            notify = notify if group.rank == 0 else _ignore
            directory, folder = RunDirectory(out), _opened(request, settings, out, group, held, notify)
            if not group.sum([directory.finished if group.rank == 0 else 0])[0]:
                watching = callbacks if group.rank == 0 else ()
                result, prediction = _train(directory, folder, request, settings, group, stop, notify, watching)
                stop.at_once = True  # what follows is computed again from the last checkpoint
                given = (directory, result, prediction, folder, request, settings, group)
                rest = gather_and_write(*given, started=started, notify=notify)
                del prediction, given  # to make room for the weights
                weights = gathered_weights(result.method, result.graph, group)
                if rest is not None:
                    finish_gathered(directory, rest, weights, group.size)
                group.wait()  # no worker leaves before the run is finished: if it fails now, all are started again
            return summarise([read_metrics(directory.metrics)], out) if group.rank == 0 else None


def check_request(request: RunRequest, workers: int) -> tuple[Path, RunSettings]:
    """Refuse what several workers cannot do; returns the run directory and the settings."""
    settings = request.settings()
    if request.out is None:
        raise UsageError("a job of several workers needs --out: a run directory that all of them see")
    if request.seeds > 1:
        raise UsageError(f"seeds = {request.seeds}: a job of several workers trains one; start one job for each")
    if request.device != "cpu":
        raise UsageError(f"device = {request.device!r}: several workers train on the CPU; leave out --device")
    if not settings.method_class.supports_shards:
        raise UsageError(
            f"{settings.method} (preset {settings.preset}) cannot be trained by several workers; use --method confgcn "
            "--preset consensus, which can, or leave out --workers"
        )
    check_batches(settings.method_class, settings.recipe, in_shards=True)
    if settings.data.perturbations:
        raise UsageError("a perturbed graph can only be trained on by a single worker")
    if isinstance(request.graph_input, ShardedGraph):
        request.graph_input.folder.shards_of(0, workers)
    return Path(request.out), settings


def _if_exists(request: RunRequest, out: Path, group: ProcessGroup) -> IfExists:
    """A job that torchrun has restarted resumes the run that it began itself, and no other."""
    return "resume" if group.has_flag(BEGUN) and RunDirectory(out).holds_run else request.if_exists


def _opened(
    request: RunRequest, settings: RunSettings, out: Path, group: ProcessGroup, held: ExitStack, notify: Notify
) -> ShardFolder:
    """The graph in shards, which are made where there are none; the run begins once all input is checked."""
    given = request.graph_input
    folder = ShardFolder(given.path if isinstance(given, ShardedGraph) else RunDirectory(out).shards)
    if isinstance(given, ShardedGraph):
        given.check_split(request.split_seed)
        _check_own_shards(folder, settings, group)
    if group.rank == 0:
        graph = None if isinstance(given, ShardedGraph) else _loaded(request, settings, group.size)
        for notice in held.enter_context(claimed(out, if_exists=_if_exists(request, out, group))):
            notify(notice)
        group.set_flag(BEGUN)
        _begin(request, settings, RunDirectory(out), folder, graph, group.size, notify)
    group.finish_setup()
    if not isinstance(given, ShardedGraph) and is_shard_folder(folder.path):
        check_shards(folder, folder.shards_of(group.rank, group.size))
    return folder


def _check_own_shards(folder: ShardFolder, settings: RunSettings, group: ProcessGroup) -> None:
    """Every worker checks its own shards before the first one writes anything."""
    check_shards(folder, folder.shards_of(group.rank, group.size))
    own = folder.shards_of(group.rank, group.size)
    split, labels = (torch.cat([folder.array(name, shard) for shard in own]) for name in ("split", "labels"))
    classes = torch.bincount(labels[split == SPLIT.index("train")], minlength=len(folder.record.class_names))
    *labelled, held_out = group.sum([*classes.tolist(), int((split == SPLIT.index("validation")).sum())])
    if sum(count > 0 for count in labelled) < 2:
        raise DataError(f"{folder.path}: training labels are of fewer than two classes; at least two are needed")
    if not held_out and needs_validation(settings.recipe.select, settings.recipe.stop):
        raise _no_validation(folder.record.name)


def _loaded(request: RunRequest, settings: RunSettings, size: int) -> Graph:
    """The graph to partition."""
    graph = request.graph_input.load(request.split_seed)
    check_fittable(graph, settings)
    if needs_cross_fitting(graph, settings):
        raise _no_validation(graph.name)
    if size > graph.num_nodes:
        raise UsageError(f"workers = {size}: {graph.name} has {graph.num_nodes} nodes, and each needs one")
    return graph


def _no_validation(name: str) -> UsageError:
    return UsageError(f"{name}: no validation nodes; several workers need some, for example --validation 0.2")


def _begin(
    request: RunRequest,
    settings: RunSettings,
    directory: RunDirectory,
    folder: ShardFolder,
    graph: Graph | None,
    size: int,
    notify: Notify,
) -> None:
    """Write the first files of the run, and the shards of a graph that has none."""
    if graph is None:
        fingerprint, notices = folder.record.graph_sha256, folder.record.notices
    else:
        fingerprint, notices = graph.fingerprint, graph.notices()
    directory.start(run_config(request))
    damages = [f"{damage}; the run is trained again" for damage in directory.discard_damage()]
    if directory.finished:  # left by a process that was killed when it had just written its metrics
        directory.clear_checkpoints()
        directory.clear_shards()
    elif graph is not None:
        damages += _remove_unfit(folder.path, fingerprint, size)
        if not is_shard_folder(folder.path):
            made = make_shards(
                folder.path, graph, size, is_named=request.graph_input.is_named, split_seed=request.split_seed
            )
            damages += partition_notices(made)
    if graph is not None and request.graph_input.needs_copy:
        saved.write_graph_copy(directory, graph)
    changes = saved.record_environment(directory.environment, fingerprint, notices)
    for notice in (*settings_notices(request, settings), *notices, *changes, *damages):
        notify(notice)


def _remove_unfit(shards: Path, fingerprint: str, size: int) -> list[str]:
    """Remove shards that the run made for fewer workers, or that are damaged; returns notices."""
    if not os.path.lexists(shards):
        return []
    damage = []
    try:
        folder = ShardFolder(shards)
        if folder.record.graph_sha256 == fingerprint and folder.num_shards >= size:
            check_shards(folder, list(range(folder.num_shards)))
            return []
    except (ConfGCNError, OSError) as error:
        damage = [f"{brief(error)}; the graph is partitioned again"]
    refuse_link(shards)
    shutil.rmtree(shards)
    return damage


def _train(
    directory: RunDirectory,
    folder: ShardFolder,
    request: RunRequest,
    settings: RunSettings,
    group: ProcessGroup,
    stop: StopRequest,
    notify: Notify,
    callbacks: Sequence[Callback],
) -> tuple[ShardResult, Prediction]:
    """Train the shard of this worker to the end; returns what is kept of it, and the prediction for its nodes."""
    shard = load_shard(folder, group.rank, group.size)
    choosing = choosing_nodes_of_shard(shard, settings.data.held_out, group)
    prepared = settings.data.prepare(shard, seed=request.seed, fitted_on=columns_of(folder), choosing=choosing)
    with seeded(request.seed):
        method = make_method(prepared, settings)
        check_memory(method)
        watching = [*callbacks, Checkpointer(directory.checkpoints, stop)]
        loop = TrainingLoop(method, prepared, settings.recipe, watching, group=group)
        for notice in resume_from(directory.checkpoints, loop):
            notify(notice)
        with _best_kept(directory, loop, folder, request, settings):
            loop.fit()
    loop.release()
    return ShardResult.of(loop), loop.predict()


@contextmanager
def _best_kept(
    directory: RunDirectory, loop: TrainingLoop, folder: ShardFolder, request: RunRequest, settings: RunSettings
) -> Iterator[None]:
    """When training diverges, in all workers at once, the first one saves the best weights so far."""
    try:
        yield
    except DivergedError as error:
        if loop.best is None:
            raise
        group, stem = loop.group, directory.best_before_divergence
        assert isinstance(group, ProcessGroup)
        loop.method.load_state_dict(loop.best_weights)
        weights = gathered_weights(loop.method, loop.graph, group)
        if group.rank == 0:
            graph = load_all_shards(folder)
            method = without_weights(graph, settings)
            method.load_state_dict(weights, assign=True)
            saved.write_model(stem, method, saved.model_record(run_config(request), graph))
        raise DivergedError(f"{error}. The weights of epoch {loop.best['epoch']} are kept in {stem}.*") from None


def _ignore(text: str) -> None:
    """Notices come from the first worker."""
