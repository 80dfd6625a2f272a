"""Do prediction sets keep their promise? The protocol: many random calibration sets, all other nodes to cover."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import torch
from torch import Tensor

from confgcn.confidence.conformity import Score, label_scores
from confgcn.confidence.prediction_sets import degree_groups, group_quantiles, true_label_scores
from confgcn.exceptions import DataError
from confgcn.graph import Graph


@dataclass(frozen=True)
class CoverageReport:
    """Over all draws.

    Attributes:
        coverage, coverage_std: share of sets that hold the true label, its mean and deviation over draws.
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
    coverage: float = 0.9,
    score: Score = "threshold",
    by_degree: bool = False,
    draws: int = 100,
    calibration_size: int = 500,
    seed: int = 0,
) -> CoverageReport:
    """Calibrate on ``calibration_size`` of the pool ``nodes`` (n,), cover the rest; so ``draws`` times.

    Empty sets are left empty: to fill them would hide whether coverage is what was asked for. ``by_degree``: with a
    quantile for each group.
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
