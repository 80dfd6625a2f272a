"""Sets of labels that hold the true one with a probability that is asked for: split conformal prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.confidence.conformity import Score, label_scores
from confgcn.evaluation.groups import quartile
from confgcn.exceptions import DataError, UsageError
from confgcn.graph import Graph

ROUNDING = 1e-9  # 100 * 0.55 is a little more than 55, and must not count as 56


@dataclass(frozen=True, eq=False)
class PredictionSets:
    r"""All labels whose score is at most a quantile of the true labels' scores on calibration nodes.

    .. math:: C(v) = \{ y : s_v(y) \le \hat{q} \}, \qquad P(y_v \in C(v)) \ge \text{coverage}

    Vovk, Gammerman, Shafer: Algorithmic learning in a random world, 2005. It holds on average over nodes that could
    as well have been calibration nodes: these were neither trained on nor used to choose a model, and are drawn like
    those to be covered. With ``groups`` it holds within each group (Mondrian), at the price of more labels.

    Shapes: ``quantiles`` (G,), one per group, infinite where there are too few labels; ``groups`` (N,) or None.
    """

    score: Score
    coverage: float
    quantiles: Tensor
    groups: Tensor | None
    seed: int

    @classmethod
    def fit(
        cls,
        graph: Graph,
        probabilities: Tensor,
        nodes: Tensor,
        *,
        coverage: float = 0.9,
        score: Score = "threshold",
        groups: Tensor | None = None,
        seed: int = 0,
    ) -> PredictionSets:
        """From the labels of the calibration ``nodes`` (n,), for ``probabilities`` (N, C) and ``groups`` (N,)."""
        true = true_label_scores(graph, label_scores(graph, probabilities, score, seed=seed), nodes)
        group = torch.zeros(len(nodes), dtype=torch.long) if groups is None else groups[nodes]
        count = 1 if groups is None else int(groups.max()) + 1
        return cls(score, coverage, group_quantiles(true, group, count, coverage), groups, seed)

    def sets(self, graph: Graph, probabilities: Tensor, *, allow_empty: bool = False) -> Tensor:
        """Which labels are in the set of each node, (N, C).

        The likeliest label is always in, unless ``allow_empty``: that can only raise the coverage, and does so by a
        little where the model is right more often than it has to be.
        """
        scores = label_scores(graph, probabilities, self.score, seed=self.seed)
        bound = self.quantiles if self.groups is None else self.quantiles[self.groups]
        chosen = scores <= bound[:, None]
        return chosen if allow_empty else chosen.scatter(1, probabilities.argmax(1, keepdim=True), True)


def true_label_scores(graph: Graph, scores: Tensor, nodes: Tensor) -> Tensor:
    """The score of the true label of each of these nodes, (n,)."""
    labels = graph.labels[nodes]
    if (labels < 0).any():
        raise DataError(f"prediction sets: expected a label for each of the {len(nodes)} nodes, some have none")
    return scores[nodes].gather(1, labels[:, None]).squeeze(1)


def conformal_quantile(scores: Tensor, coverage: float) -> float:
    """The ceil((n + 1) coverage)-th smallest of n scores; infinite where there are fewer than that."""
    _check_coverage(coverage)
    place = math.ceil((len(scores) + 1) * coverage - ROUNDING)
    return float(scores.kthvalue(place).values) if place <= len(scores) else math.inf


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise UsageError(f"coverage = {coverage}: expected a share between 0 and 1, such as 0.9")


def group_quantiles(scores: Tensor, group: Tensor, count: int, coverage: float) -> Tensor:
    """The quantile of each of ``count`` groups, (G,); groups with too few scores (n,) share theirs with the next."""
    merged = merged_groups(torch.bincount(group, minlength=count), fewest_scores(coverage))
    of_score = merged[group]
    quantiles = [conformal_quantile(scores[of_score == number], coverage) for number in range(int(merged.max()) + 1)]
    return torch.tensor(quantiles, dtype=torch.float64)[merged]


def fewest_scores(coverage: float) -> int:
    """ceil(1 / (1 - coverage)): with fewer in a group its quantile would be the largest score or infinite."""
    _check_coverage(coverage)
    return math.ceil(1 / (1 - coverage) - ROUNDING)


def merged_groups(sizes: Tensor, least: int) -> Tensor:
    """Which new group each of these becomes, (G,), when neighbours are merged until each holds ``least``.

    Only sizes decide, never scores, so the guarantee is not touched.
    """
    new, held, merged = 0, 0, []
    for size in sizes.tolist():
        if held >= least:
            new, held = new + 1, 0
        merged.append(new)
        held += size
    last = new - 1 if held < least and new else new  # what is left over joins the group before it
    return torch.tensor(merged).clamp(max=last)


def degree_groups(graph: Graph, nodes: Tensor) -> Tensor:
    """The quartile of every node's degree among the degrees of ``nodes``, (N,), from 0.

    Nodes of equal degree are in the same group, so groups are of unequal size, and one may be empty.
    """
    return quartile(graph.degrees, graph.degrees[nodes])
