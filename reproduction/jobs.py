"""A run that a table or figure asks for, and the hash under which its result is kept."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from confgcn.data.datasets import dataset_named, load_graph
from confgcn.models.registry import method_class
from confgcn.runs.settings import RunSettings, hyperparameters, resolve

Changes = tuple[tuple[str, Any], ...]
Kind = Literal["paper", "confidence"]  # what is measured of a run, and which table keeps it


@dataclass(frozen=True)
class Variant:
    """A way to train: a method, its preset, and what is changed of it. ``title`` is what tables and figures say."""

    title: str
    method: str
    preset: str = "default"
    changes: Changes = ()

    def changed(self, title: str, **changes: Any) -> Variant:
        """The same with more changes."""
        return Variant(title, self.method, self.preset, self.changes + tuple(changes.items()))

    @property
    def changes_text(self) -> str:
        """What is changed, for people."""
        return " ".join(f"{name}={value}" for name, value in self.changes)

    def settings(self, dataset: str) -> RunSettings:
        """The complete settings on a data set."""
        return resolve(self.method, self.preset, dataset, dict(self.changes))


@dataclass(frozen=True)
class Job:
    """One run. On a data set without a public split the seed is that of the split too."""

    dataset: str
    variant: Variant
    seed: int
    kind: Kind = "paper"

    def __str__(self) -> str:
        variant = self.variant
        words = (self.dataset, variant.method, variant.preset, variant.changes_text, f"seed {self.seed}")
        return " ".join(word for word in words if word)

    @property
    def split_seed(self) -> int:
        return split_seed_of(self.dataset, self.seed)

    @property
    def settings_key(self) -> str:
        return settings_key(self.variant, self.dataset)

    def key(self, data_dir: Path | None) -> str:
        """The hash of settings, seed and input data: a run is done once, whatever tables ask for it."""
        parts = [self.settings_key, self.seed, graph_key(self.dataset, self.split_seed, data_dir)]
        return digest(parts if self.kind == "paper" else [*parts, self.kind])


def split_seed_of(dataset: str, seed: int) -> int:
    """The split that a seed draws: its own, where none is published."""
    return seed if dataset_named(dataset).draw_split is not None else 0


@cache
def settings_key(variant: Variant, dataset: str) -> str:
    """The hash of what decides a result: not the preset's name, and no setting that has its default.

    So a method can be given a new option without losing the results it has.
    """
    settings = variant.settings(dataset)
    model = hyperparameters(method_class(settings.method))(**settings.model)
    parts = [part.model_dump(exclude_defaults=True) for part in (settings.data, model, settings.recipe)]
    return digest([settings.method, *parts])


@cache
def graph_key(dataset: str, split_seed: int, data_dir: Path | None) -> str:
    """The hash of the graph with its split."""
    return load_graph(dataset, data_dir=data_dir, split_seed=split_seed).fingerprint[:16]


def digest(content: Any) -> str:
    """A short hash of anything that can be written as JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
