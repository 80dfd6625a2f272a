"""The runs that tables and figures need, and the hash under which the result of a run is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from confgcn.data.datasets import dataset_named
from confgcn.data.graph_names import check_graph_name
from confgcn.data.load import load_graph
from confgcn.exceptions import UsageError
from confgcn.limits import MAX_SEEDS
from confgcn.models.registry import check_method
from confgcn.runs.settings import RunSettings, hyperparameters, resolve

SEEDS = 10
PAPER_GRAPHS = ("citeseer", "cora", "pubmed", "cora_ml")  # in the order of Table 2

Changes = tuple[tuple[str, Any], ...]
Kind = Literal["paper", "confidence"]  # which measurements are made of a run, and which CSV file holds them


@dataclass(frozen=True)
class Variant:
    """A method, its preset and the options changed in it. ``title`` is its name in tables and figures."""

    title: str
    method: str
    preset: str = "default"
    changes: Changes = ()

    def changed(self, title: str, **changes: Any) -> Variant:
        """The same variant with further changes."""
        return Variant(title, self.method, self.preset, self.changes + tuple(changes.items()))

    @property
    def changes_text(self) -> str:
        """The changes as "name=value name=value"."""
        return " ".join(f"{name}={value}" for name, value in self.changes)

    def settings(self, dataset: str) -> RunSettings:
        """The complete settings on a data set."""
        return resolve(self.method, self.preset, dataset, dict(self.changes))


@dataclass(frozen=True)
class Job:
    """One run. On a data set without a public split the seed draws the split too."""

    dataset: str
    variant: Variant
    seed: int
    kind: Kind = "paper"

    def __str__(self) -> str:
        variant = self.variant
        fields = (self.dataset, variant.method, variant.preset, variant.changes_text, f"seed {self.seed}")
        return " ".join(field for field in fields if field)

    @property
    def split_seed(self) -> int:
        """The seed of the split; see :func:`split_seed_of`."""
        return split_seed_of(self.dataset, self.seed)

    @property
    def settings_key(self) -> str:
        """The hash of the settings; see :func:`settings_key`."""
        return settings_key(self.variant, self.dataset)

    def key(self, data_dir: Path | None) -> str:
        """The hash of settings, seed and input data: each run is done once, however many tables need it."""
        content = [self.settings_key, self.seed, graph_key(self.dataset, self.split_seed, data_dir)]
        return digest(content if self.kind == "paper" else [*content, self.kind])


@dataclass(frozen=True)
class Scope:
    """The selection of runs: seeds 0, 1, ...; ``datasets`` replace the usual ones; only these ``methods``."""

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
        """The selected data sets; the usual ones where none are selected."""
        return self.datasets or tuple(usual)

    def selected(self, variants: Iterable[Variant]) -> list[Variant]:
        """The variants of the selected methods."""
        return [variant for variant in variants if not self.methods or variant.method in self.methods]

    def jobs(self, usual: Sequence[str], variants: Iterable[Variant], kind: Kind = "paper") -> list[Job]:
        """Every variant on every data set with every seed."""
        chosen, datasets, seeds = self.selected(variants), self.datasets_or(usual), range(self.seeds)
        return [Job(dataset, variant, seed, kind) for dataset in datasets for variant in chosen for seed in seeds]


def split_seed_of(dataset: str, seed: int) -> int:
    """The seed of the split: the run's own seed where no split is published."""
    return seed if dataset_named(dataset).draw_split is not None else 0


@cache
def settings_key(variant: Variant, dataset: str) -> str:
    """The hash of the settings that affect the result: without the preset's name and without default values.

    A method can therefore gain an option without invalidating recorded results.
    """
    settings = variant.settings(dataset)
    model = hyperparameters(settings.method_class)(**settings.model)
    sections = [section.model_dump(exclude_defaults=True) for section in (settings.data, model, settings.recipe)]
    return digest([settings.method_class.__name__, *sections])


@cache
def graph_key(dataset: str, split_seed: int, data_dir: Path | None) -> str:
    """The hash of the graph with its split."""
    return load_graph(dataset, data_dir=data_dir, split_seed=split_seed).fingerprint[:16]


def digest(content: Any) -> str:
    """A short hash of anything that can be written as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
