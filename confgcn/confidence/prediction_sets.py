"""Prediction sets by split conformal prediction: label scores, quantiles and a check of their coverage."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from confgcn.confidence.neighbourhood import neighbour_mean
from confgcn.evaluation.groups import quartile
from confgcn.exceptions import DataError, UsageError, unknown_name
from confgcn.graph import Graph

Score = Literal["aps", "diffused", "raps", "threshold"]

COVERAGE = 0.9  # the usual level in the literature
RANK_PENALTY = 0.1  # lambda of RAPS, for a handful of classes (its paper: 0.001 to 1 for 1000 classes)
FREE_RANKS = 1  # k_reg of RAPS: no penalty on the first label
TIE_BREAK = 1e-9  # orders equal probabilities at random
DIFFUSION = 0.5  # of DAPS: weight of the neighbours
ROUNDING = 1e-9  # 100 * 0.55 is a little more than 55, and must not count as 56


@dataclass(frozen=True, eq=False)
class PredictionSets:
    r"""All labels whose score is at most a quantile of the true labels' scores on calibration nodes.

    .. math:: C(v) = \{ y : s_v(y) \le \hat{q} \}, \qquad P(y_v \in C(v)) \ge \text{coverage}

    Vovk, Gammerman, Shafer: Algorithmic learning in a random world, 2005. The guarantee holds on average over nodes
    that are exchangeable with the calibration nodes, which must be used neither for training nor for model selection.
    With ``groups`` it holds within each group (Mondrian conformal prediction) and needs more labels.

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
        coverage: float = COVERAGE,
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

        The most probable label is always included unless ``allow_empty``, which can only raise the coverage.
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
    rank = math.ceil((len(scores) + 1) * coverage - ROUNDING)
    return float(scores.kthvalue(rank).values) if rank <= len(scores) else math.inf


def _check_coverage(coverage: float) -> None:
    if not 0 < coverage < 1:
        raise UsageError(f"coverage = {coverage}: expected a share between 0 and 1, such as 0.9")


def group_quantiles(scores: Tensor, group: Tensor, count: int, coverage: float) -> Tensor:
    """The quantile of each of ``count`` groups, (G,); groups with too few scores (n,) are merged with the next."""
    merged = merged_groups(torch.bincount(group, minlength=count), fewest_scores(coverage))
    merged_group = merged[group]
    quantiles = [
        conformal_quantile(scores[merged_group == number], coverage) for number in range(int(merged.max()) + 1)
    ]
    return torch.tensor(quantiles, dtype=torch.float64)[merged]


def fewest_scores(coverage: float) -> int:
    """ceil(1 / (1 - coverage)): with fewer in a group its quantile would be the largest score or infinite."""
    _check_coverage(coverage)
    return math.ceil(1 / (1 - coverage) - ROUNDING)


def merged_groups(sizes: Tensor, least: int) -> Tensor:
    """The new group of each group, (G,), when adjacent ones are merged until each holds ``least``.

    Merging depends on sizes only, never on scores, so the guarantee holds.
    """
    new, size_so_far, merged = 0, 0, []
    for size in sizes.tolist():
        if size_so_far >= least:
            new, size_so_far = new + 1, 0
        merged.append(new)
        size_so_far += size
    last = new - 1 if size_so_far < least and new else new  # the remainder joins the previous group
    return torch.tensor(merged).clamp(max=last)


def degree_groups(graph: Graph, nodes: Tensor) -> Tensor:
    """The quartile of every node's degree among the degrees of ``nodes``, (N,), from 0.

    Nodes of equal degree are in the same group, so groups are of unequal size, and one may be empty.
    """
    return quartile(graph.degrees, graph.degrees[nodes])


def label_scores(graph: Graph, probabilities: Tensor, score: Score, *, seed: int = 0) -> Tensor:
    """The nonconformity score of every label of every node, (N, C): low for a probable label.

    - ``threshold``: 1 - p. Sadinle, Lei, Wasserman, JASA 2019. The smallest sets on average.
    - ``aps``: Romano, Sesia, Candès, NeurIPS 2020 (:func:`adaptive_scores`). Set sizes adapt to difficulty.
    - ``raps``: with a penalty on large sets. Angelopoulos, Bates, Malik, Jordan, ICLR 2021.
    - ``diffused``: DAPS, Zargarbashi, Antonelli, Bojchevski, ICML 2023: half the node's score of ``aps`` and half the
      mean of its neighbours'.
    """
    if score not in get_args(Score):
        raise unknown_name("score", score, get_args(Score))
    if probabilities.shape != (graph.num_nodes, graph.num_classes):
        raise DataError(
            f"probabilities: expected {(graph.num_nodes, graph.num_classes)}, a row per node and a column per class, "
            f"got {tuple(probabilities.shape)}"
        )
    draws = node_draws(graph, seed)
    if score == "threshold":
        return (1.0 - probabilities.double()).add_((TIE_BREAK * draws)[:, None])
    if score == "raps":
        return adaptive_scores(probabilities, draws) + rank_penalty(probabilities)
    own = adaptive_scores(probabilities, draws)
    return own if score == "aps" else (1 - DIFFUSION) * own + DIFFUSION * neighbour_mean(graph, own)


def adaptive_scores(probabilities: Tensor, draws: Tensor) -> Tensor:
    r"""The probability of all more probable labels plus a random share of the label's own, (N, C).

    .. math:: s_v(y) = \sum_{c : p_v(c) > p_v(y)} p_v(c) + u_v \, p_v(y)

    Without u, uniform on [0, 1], scores would be discrete and the sets too large.
    """
    ordered, labels = probabilities.double().sort(dim=1, descending=True, stable=True)
    scores = ordered.cumsum(1) - (1.0 - draws[:, None]) * ordered
    return torch.empty_like(scores).scatter_(1, labels, scores)


def rank_penalty(probabilities: Tensor) -> Tensor:
    r""":math:`\lambda \max(0, \mathrm{rank}_v(y) - k)`, (N, C), with rank one for the most probable label."""
    labels = probabilities.double().argsort(dim=1, descending=True, stable=True)
    ranks = torch.empty_like(labels).scatter_(1, labels, torch.arange(1, labels.size(1) + 1).expand_as(labels))
    return RANK_PENALTY * (ranks - FREE_RANKS).clamp(min=0)


def node_draws(graph: Graph, seed: int) -> Tensor:
    """u of each node, (N,), determined by the node's id and not by its position in the graph."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(int(graph.node_ids.max()) + 1, generator=generator, dtype=torch.float64)[graph.node_ids]


@dataclass(frozen=True)
class CoverageReport:
    """Coverage over repeated draws of the calibration nodes.

    Attributes:
        coverage, coverage_std: mean and standard deviation over draws of the share of sets with the true label.
        size: mean number of labels in a set.
        singleton_hits: share of nodes whose set is the true label alone.
        coverage_by_degree: coverage in each group of :func:`degree_groups`, None for an empty one.
    """

    coverage: float
    coverage_std: float
    size: float
    singleton_hits: float
    coverage_by_degree: list[float | None]


def coverage_report(
    graph: Graph,
    probabilities: Tensor,
    nodes: Tensor,
    *,
    coverage: float = COVERAGE,
    score: Score = "threshold",
    by_degree: bool = False,
    draws: int = 100,
    calibration_size: int = 500,
    seed: int = 0,
) -> CoverageReport:
    """Calibrate on ``calibration_size`` random ``nodes`` (n,) and measure the coverage of the rest, ``draws`` times.

    Empty sets stay empty, as filling them would raise the coverage. ``by_degree`` uses one quantile per degree group.
    """
    if not 0 < calibration_size < len(nodes):
        raise DataError(
            f"calibration_size = {calibration_size}: expected fewer than the {len(nodes)} nodes of the pool"
        )
    scores = label_scores(graph, probabilities, score, seed=seed)
    true, scores = true_label_scores(graph, scores, nodes), scores[nodes]
    group = degree_groups(graph, nodes)[nodes]
    count = int(group.max()) + 1
    calibrated_by = group if by_degree else torch.zeros_like(group)
    generator = torch.Generator().manual_seed(seed)
    means, sizes, hits, covered_by, seen_by = [], [], [], torch.zeros(count), torch.zeros(count)
    for _ in range(draws):
        calibration, rest = torch.randperm(len(nodes), generator=generator).tensor_split([calibration_size])
        quantiles = group_quantiles(true[calibration], calibrated_by[calibration], count, coverage)
        bound = quantiles[calibrated_by[rest]]
        covered, size = true[rest] <= bound, (scores[rest] <= bound[:, None]).sum(1)
        means.append(float(covered.double().mean()))
        sizes.append(float(size.double().mean()))
        hits.append(float((covered & (size == 1)).double().mean()))
        covered_by += torch.bincount(group[rest], covered.float(), minlength=count)
        seen_by += torch.bincount(group[rest], minlength=count)
    return CoverageReport(
        statistics.fmean(means),
        statistics.pstdev(means),
        statistics.fmean(sizes),
        statistics.fmean(hits),
        [float(c / n) if n else None for c, n in zip(covered_by, seen_by, strict=True)],
    )
