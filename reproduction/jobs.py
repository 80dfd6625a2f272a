"""The runs that tables and figures need, and the hash under which the result of a run is stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from confgcn.data.datasets import dataset_named
from confgcn.data.graph_names import check_graph_name
from confgcn.data.load import load_graph
from confgcn.exceptions import UsageError, check_choice
from confgcn.graph import Graph
from confgcn.limits import MAX_SEEDS
from confgcn.models.registry import METHODS
from confgcn.runs.settings import RunSettings, hyperparameters, resolve
from reproduction.development import development_graphs, load_development_graph

SEEDS = 10
PAPER_GRAPHS = ("citeseer", "cora", "pubmed", "cora_ml")  # in the order of Table 2
FEATURE_CLASSIFIERS = ("logistic_regression", "gradient_boosting")  # of scikit-learn: see reproduction/peers.py

Changes = tuple[tuple[str, Any], ...]
# Which measurements are made of a run, and which CSV file holds them.
Kind = Literal["paper", "confidence", "validation", "robustness", "influence"]


@dataclass(frozen=True)
class Variant:
    """A method, its preset and the options changed in it. ``title`` is its name in tables and figures."""

    title: str
    method: str
    preset: str = "default"
    changes: Changes = ()

    def changed(self, title: str, **changes: Any) -> Variant:
        """The same variant with further changes."""
        return replace(self, title=title, changes=self.changes + tuple(changes.items()))

    @property
    def changes_text(self) -> str:
        """The changes as "name=value name=value"."""
        return " ".join(f"{name}={value}" for name, value in self.changes)

    def settings(self, dataset: str) -> RunSettings:
        """The complete settings on a data set."""
        return resolve(self.method, self.preset, dataset, dict(self.changes))

    def described(self, dataset: str) -> dict[str, Any]:
        """The settings as they are recorded, with the name of the preset."""
        return self.settings(dataset).as_dict()

    def identity(self, dataset: str) -> list[Any]:
        """The settings that affect the result: without the preset's name and without default values.

        Those of a search are followed by the changes of its candidates.
        """
        settings = self.settings(dataset)
        model = hyperparameters(settings.method_class)(**settings.model)
        sections = [section.model_dump(exclude_defaults=True) for section in (settings.data, model, settings.recipe)]
        searched = [[dict(candidate.changes) for candidate in settings.candidates]] if settings.searches else []
        return [settings.method_class.__name__, *sections, *searched]


@dataclass(frozen=True)
class Job:
    """One run. On a data set without a public split the seed draws the split too.

    A graph in the development format is read from its ``folder``; there the seed is also the number of the split.
    """

    dataset: str
    variant: Variant
    seed: int
    kind: Kind = "paper"
    folder: Path | None = None

    def __str__(self) -> str:
        variant = self.variant
        fields = (self.dataset, variant.method, variant.preset, variant.changes_text, f"seed {self.seed}")
        return " ".join(field for field in fields if field)

    @property
    def split_seed(self) -> int:
        """The seed of the split, or its number; see :func:`split_seed_of`."""
        return split_seed_of(self.dataset, self.seed) if self.folder is None else self.seed

    @property
    def settings_key(self) -> str:
        """The hash of the settings; see :func:`settings_key`."""
        return settings_key(self.variant, self.dataset)

    def load_graph(self, data_dir: Path | None) -> Graph:
        """The graph with its split."""
        return _load(self.dataset, self.split_seed, data_dir, self.folder)

    def graph_key(self, data_dir: Path | None) -> str:
        """The hash of the graph with its split."""
        return graph_key(self.dataset, self.split_seed, data_dir, self.folder)

    def run_key(self, data_dir: Path | None) -> str:
        """The hash of settings, seed and input data: each run is done once, however many tables need it."""
        return digest(self._identity(data_dir))

    def key(self, data_dir: Path | None) -> str:
        """The hash of the run and of what is measured of it."""
        return self.run_key(data_dir) if self.kind == "paper" else digest([*self._identity(data_dir), self.kind])

    def _identity(self, data_dir: Path | None) -> list[Any]:
        return [self.settings_key, self.seed, self.graph_key(data_dir)]


@dataclass(frozen=True)
class Scope:
    """The selection of runs: seeds 0, 1, ...; ``datasets`` replace the usual ones; only these ``methods``.

    ``development`` is a folder of graphs in the development format. ``validation_only`` leaves out every measurement
    of test nodes, for the tables that can do so.
    """

    seeds: int = SEEDS
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    data_dir: Path | None = None
    development: Path | None = None
    validation_only: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.seeds <= MAX_SEEDS:
            raise UsageError(f"seeds = {self.seeds}: expected a whole number from 1 to {MAX_SEEDS}")
        for name in self.datasets:
            if name not in development_graphs(self.development):
                check_graph_name(name)
        for name in self.methods:
            check_choice("method", name, (*METHODS, *FEATURE_CLASSIFIERS))

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
    """The hash of the settings that affect the result: see :meth:`Variant.identity`.

    A method can gain an option without invalidating recorded results.
    """
    return digest(variant.identity(dataset))


@cache
def graph_key(dataset: str, split_seed: int, data_dir: Path | None, folder: Path | None = None) -> str:
    """The hash of the graph with its split."""
    return _load(dataset, split_seed, data_dir, folder).fingerprint[:16]


def _load(dataset: str, split_seed: int, data_dir: Path | None, folder: Path | None) -> Graph:
    if folder is not None:
        return load_development_graph(folder, split_seed)
    return load_graph(dataset, data_dir=data_dir, split_seed=split_seed)


def digest(content: Any) -> str:
    """A short hash of anything that can be written as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
