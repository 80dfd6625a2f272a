"""Figure 1, the motivating picture, on a real node: one that Kipf-GCN gets wrong and ConfGCN right.

Whether the influences are the reason is asked of the trained model: does it go wrong when they are made uniform?
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

import torch

from confgcn.data.datasets import load_graph
from confgcn.evaluation.groups import neighbour_label_entropy
from confgcn.exceptions import DivergedError
from confgcn.graph import Graph
from confgcn.io.atomic_files import write_atomic
from confgcn.io.json_files import read_json, to_json
from confgcn.io.threads import computing_with
from confgcn.models.base import Prediction
from confgcn.models.confgcn.network import ConfGCN
from confgcn.runs.train import trained_loop
from confgcn.training.loop import TrainingLoop
from reproduction.case import Case
from reproduction.jobs import Job, Variant, digest, graph_key, settings_key, split_seed_of
from reproduction.portrait import portrait
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import GCN, PAPER, RELEASED

DATASETS = ("demo",)
PRESETS = (RELEASED, PAPER)
DRAWABLE = range(3, 9)  # degrees of nodes whose neighbours can be told apart in a picture
PREFERENCES = (Case.visibly_gained_by_influence, Case.gained, Case.any_node)

Look = dict[str, Any]


def jobs(scope: Scope) -> list[Job]:
    """None: the trained models themselves are looked at, so they are trained where they are needed."""
    return []


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set the counts over all runs, and one node with its neighbours.

    Every seed that was looked at is kept under its hash, in the same file.
    """
    file = results.file("figure1")
    before = read_json(file) if file.is_file() else {}
    looks: dict[str, Look] = before.get("looks", {})
    both = scope.wanted([GCN]) and scope.wanted(PRESETS)  # there is nothing to compare without
    asked = [(dataset, seed) for dataset in scope.datasets_or(DATASETS) for seed in range(scope.seeds) if both]
    keys = {(dataset, seed): look_key(scope, dataset, seed) for dataset, seed in asked}
    for (dataset, seed), key in keys.items():
        if key not in looks:
            looks[key] = _look(scope, dataset, seed)
            write_atomic(file, to_json({"looks": looks, "datasets": before.get("datasets", {})}))
    datasets = {dataset: [looks[key] for (name, _), key in keys.items() if name == dataset] for dataset, _ in asked}
    return {"looks": looks, "datasets": {name: _together(found) for name, found in datasets.items()}}


def look_key(scope: Scope, dataset: str, seed: int) -> str:
    """The hash of what decides what is seen."""
    graph = graph_key(dataset, split_seed_of(dataset, seed), scope.data_dir)
    return digest([dataset, seed, graph, *(settings_key(variant, dataset) for variant in (GCN, *PRESETS))])


def _look(scope: Scope, dataset: str, seed: int) -> Look:
    graph = load_graph(dataset, data_dir=scope.data_dir, split_seed=split_seed_of(dataset, seed))
    cases = _cases(graph, seed)
    return {
        "counts": [asdict(case.counts()) for case in cases],
        "candidates": [found for case in cases if (found := _candidate(case)) is not None],
    }


def _together(looks: list[Look]) -> dict[str, Any]:
    """All counts; and of the candidates the first of the most preferred."""
    candidates = [candidate for look in looks for candidate in look["candidates"]]
    return {
        "counts": [counts for look in looks for counts in look["counts"]],
        "shown": min(candidates, key=lambda candidate: int(candidate["preference"]), default=None),
    }


def _cases(graph: Graph, seed: int) -> list[Case]:
    """One for each preset; none of those that diverge."""
    gcn = _trained(graph, GCN, seed)
    found = [] if gcn is None else [_case(graph, preset, seed, gcn.predict()) for preset in PRESETS]
    return [case for case in found if case is not None]


def _case(graph: Graph, preset: Variant, seed: int, gcn: Prediction) -> Case | None:
    loop = _trained(graph, preset, seed)
    if loop is None:
        return None
    uniform = cast(ConfGCN, loop.method).with_uniform_influence().predict(loop.visible)
    return Case(preset.title, seed, graph, gcn, loop.predict(), uniform)


def _trained(graph: Graph, variant: Variant, seed: int) -> TrainingLoop | None:
    with computing_with(1):
        try:
            return trained_loop(graph, variant.settings(graph.name), seed=seed)
        except DivergedError:
            return None


def _candidate(case: Case) -> dict[str, Any] | None:
    """A node that the influences visibly put right, if one can be drawn; else one that ConfGCN puts right otherwise.

    Of several the one of the most mixed neighbourhood; None where no node has few enough neighbours.
    """
    degrees = case.graph.degrees
    drawable = (degrees >= DRAWABLE.start) & (degrees < DRAWABLE.stop)
    for preference, wanted in enumerate(PREFERENCES):
        candidates = wanted(case) & drawable
        if bool(candidates.any()):
            node = int(torch.where(candidates, neighbour_label_entropy(case.graph), -1.0).argmax())
            shown = portrait(case.graph, node, case.gcn, case.confgcn, case.uniform)
            return {"preference": preference, "preset": case.title, "seed": case.seed, "node": shown}
    return None
