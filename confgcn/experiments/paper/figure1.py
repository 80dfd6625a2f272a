"""Figure 1, the motivating picture, on a real node: one that Kipf-GCN gets wrong and ConfGCN right.

Whether the influences are the reason is asked of the trained model: does it go wrong when they are made uniform?
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from confgcn.data.datasets import load_graph
from confgcn.evaluation.influence import relative_influence
from confgcn.evaluation.strata import neighbour_label_entropy
from confgcn.exceptions import DataError, DivergedError
from confgcn.experiments.paper.jobs import Job, Variant, graph_key, settings_key
from confgcn.experiments.paper.measurements import with_uniform_influence
from confgcn.experiments.paper.portrait import portrait
from confgcn.experiments.paper.results import Results
from confgcn.experiments.paper.scope import Scope
from confgcn.experiments.paper.table2 import GCN, PAPER, RELEASED
from confgcn.experiments.runs import trained_loop
from confgcn.graph import Graph
from confgcn.method import Prediction, present
from confgcn.training.files import read_json
from confgcn.training.loop import TrainingLoop
from confgcn.training.threads import computing_with

DATASETS = ("demo",)
PRESETS = (RELEASED, PAPER)
VISIBLE = 0.1  # distance of a relative influence from one that shows in the width of a line
DRAWABLE = range(3, 9)  # degrees of nodes whose neighbours can be told apart in a picture


@dataclass(frozen=True)
class Counts:
    """Test nodes of one run.

    Attributes:
        gcn_wrong_confgcn_right: as in the paper's picture.
        lost_without_influence: of those, the ones ConfGCN gets wrong once its influences are made uniform.
        right_without_influence: of all test nodes, the ones it gets right only once they are.
    """

    preset: str
    seed: int
    gcn_wrong_confgcn_right: int
    lost_without_influence: int
    right_without_influence: int


@dataclass(frozen=True)
class Case:
    """Two trained models and what they say of every node; ``uniform`` is ConfGCN's prediction without influence."""

    title: str
    seed: int
    graph: Graph
    gcn: Prediction
    confgcn: Prediction
    uniform: Prediction

    def right(self, prediction: Prediction) -> Tensor:
        """Which test nodes are right, (N,)."""
        is_test = torch.zeros(self.graph.num_nodes, dtype=torch.bool).index_fill_(0, self.graph.test, True)
        return (prediction.logits.argmax(-1) == self.graph.labels) & is_test

    def gained(self) -> Tensor:
        """Nodes as in the paper's picture, (N,)."""
        return self.right(self.confgcn) & ~self.right(self.gcn)

    def gained_by_influence(self) -> Tensor:
        """Those of them that are lost once the influences are made uniform, (N,)."""
        return self.gained() & ~self.right(self.uniform)

    def visibly_gained_by_influence(self) -> Tensor:
        """Those of these in whose neighbourhood some influence is another: the others are near ties, (N,)."""
        away = (relative_influence(self.graph, present(self.confgcn.influence)) - 1.0).abs() >= VISIBLE
        targets = self.graph.adjacency.rows[away]
        return self.gained_by_influence() & torch.zeros_like(self.graph.labels).index_fill_(0, targets, 1).bool()

    def any_node(self) -> Tensor:
        """Every node, (N,)."""
        return torch.ones(self.graph.num_nodes, dtype=torch.bool)

    def counts(self) -> Counts:
        return Counts(
            self.title,
            self.seed,
            int(self.gained().sum()),
            int(self.gained_by_influence().sum()),
            int((self.right(self.uniform) & ~self.right(self.confgcn)).sum()),
        )


def jobs(scope: Scope) -> list[Job]:
    """None: the trained models themselves are looked at, so they are trained where they are needed."""
    return []


def numbers(scope: Scope, results: Results) -> dict[str, Any]:
    """Per data set the counts over all runs, and one node with its neighbours."""
    found = read_json(results.file("figure1")) if results.file("figure1").is_file() else {}
    before = found.get("datasets", {})
    both = scope.wanted([GCN]) and scope.wanted(PRESETS)  # there is nothing to compare without
    asked = {dataset: _key(scope, dataset) for dataset in scope.datasets_or(DATASETS) if both}
    kept = {name: before[name] for name, key in asked.items() if before.get(name, {}).get("key") == key}
    return {"datasets": {name: kept.get(name) or {"key": key, **_look(scope, name)} for name, key in asked.items()}}


def _key(scope: Scope, dataset: str) -> list[str]:
    graphs = [graph_key(dataset, Job(dataset, GCN, seed).split_seed, scope.data_dir) for seed in range(scope.seeds)]
    return [*(settings_key(variant, dataset) for variant in (GCN, *PRESETS)), *graphs]


def _look(scope: Scope, dataset: str) -> dict[str, Any]:
    cases = [case for seed in range(scope.seeds) for case in _cases(scope, dataset, seed)]
    node, case = _choose(cases)
    return {
        "counts": [asdict(case.counts()) for case in cases],
        "preset": case.title,
        "seed": case.seed,
        "node": portrait(case.graph, node, case.gcn, case.confgcn, case.uniform),
    }


def _cases(scope: Scope, dataset: str, seed: int) -> list[Case]:
    graph = load_graph(dataset, data_dir=scope.data_dir, split_seed=Job(dataset, GCN, seed).split_seed)
    gcn = _trained(graph, GCN, seed).predict()
    cases = (_case(graph, preset, seed, gcn) for preset in PRESETS)
    return [case for case in cases if case is not None]


def _case(graph: Graph, preset: Variant, seed: int, gcn: Prediction) -> Case | None:
    try:
        loop = _trained(graph, preset, seed)
    except DivergedError:
        return None
    uniform = with_uniform_influence(loop.method).predict(loop.visible)
    return Case(preset.title, seed, graph, gcn, loop.predict(), uniform)


def _trained(graph: Graph, variant: Variant, seed: int) -> TrainingLoop:
    with computing_with(1):
        return trained_loop(graph, variant.settings(graph.name), seed=seed)


def _choose(cases: list[Case]) -> tuple[int, Case]:
    """A node that the influences visibly put right, if one can be drawn; else one that ConfGCN puts right otherwise.

    Of several the one of the most mixed neighbourhood; of several runs the first that has one.
    """
    for wanted in (Case.visibly_gained_by_influence, Case.gained, Case.any_node):
        for case in cases:
            degrees = case.graph.degrees
            candidates = wanted(case) & (degrees >= DRAWABLE.start) & (degrees < DRAWABLE.stop)
            if bool(candidates.any()):
                entropy = neighbour_label_entropy(case.graph)
                return int(torch.where(candidates, entropy, -1.0).argmax()), case
    raise DataError("figure 1: every run diverged, or no node has a number of neighbours that can be drawn")
