"""How much of the paper is asked for, and the jobs that follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from confgcn.data.graph_names import check_graph_name
from confgcn.exceptions import UsageError
from confgcn.limits import MAX_SEEDS
from confgcn.models.registry import check_method
from reproduction.jobs import Job, Kind, Variant

SEEDS = 10


@dataclass(frozen=True)
class Scope:
    """``datasets``: instead of those of each table and figure; ``methods``: these alone; seeds 0, 1, ..."""

    seeds: int = SEEDS
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    data_dir: Path | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.seeds <= MAX_SEEDS:
            raise UsageError(f"seeds = {self.seeds}: expected a whole number from 1 to {MAX_SEEDS}")
        for name in self.datasets:
            check_graph_name(name)
        for name in self.methods:
            check_method(name)

    def datasets_or(self, usual: Sequence[str]) -> tuple[str, ...]:
        """The data sets of a table or figure that usually has these."""
        return self.datasets or tuple(usual)

    def wanted(self, variants: Iterable[Variant]) -> list[Variant]:
        """Those of the methods that are asked for."""
        return [variant for variant in variants if not self.methods or variant.method in self.methods]

    def jobs(self, usual: Sequence[str], variants: Iterable[Variant], kind: Kind = "paper") -> list[Job]:
        """Every variant on every data set with every seed."""
        chosen, datasets, seeds = self.wanted(variants), self.datasets_or(usual), range(self.seeds)
        return [Job(dataset, variant, seed, kind) for dataset in datasets for variant in chosen for seed in seeds]
