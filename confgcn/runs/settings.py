"""Named presets: the settings of a method on a data set, from settings files, checked and completed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import BaseModel, create_model
from torch import Tensor

from confgcn.confidence.decisions import DELTA, MAX_ERROR
from confgcn.confidence.prediction_sets import COVERAGE
from confgcn.data.held_out import HeldOutNodes, HeldOutUse, divide
from confgcn.data.input_files import naming
from confgcn.data.perturbations import add_edges_between_classes, flip_training_labels, shrink_validation_set
from confgcn.data.transforms import ColumnStatistics, FeatureScaling, scale_features
from confgcn.exceptions import UsageError, unknown_name
from confgcn.graph import Graph
from confgcn.io.toml import read_toml
from confgcn.models.base import AbstractMethod, Shape
from confgcn.models.ranges import InnerShare, NonNegative, Share
from confgcn.models.registry import METHODS, check_method, method_class
from confgcn.training.batches import check_batches
from confgcn.training.recipe import SETTINGS, Recipe, validated

FOLDER = Path(__file__).parent / "presets"
PRESET_FOLDERS = ("reference", "tuned")  # published by the authors; found by us
SECTIONS = ("data", "model", "recipe", "targets")
PERTURBATIONS = ("edges_between_classes", "flipped_labels", "held_back_validation")  # of the data section
ANY = "any"

Sections = dict[str, dict[str, Any]]


class DataSettings(BaseModel):
    """How a graph is prepared for a method.

    Attributes:
        feature_scaling: see ``confgcn.data.transforms``.
        held_out: "divided": half of the validation labels choose epochs and settings and calibrate, the other half
            certifies prediction sets and decisions (``confgcn.data.held_out``); "whole": all of them choose and
            calibrate, and nothing is certified.

    The others are perturbations for experiments (``confgcn.data.perturbations``), drawn with the seed of the run.
    """

    model_config = SETTINGS

    feature_scaling: FeatureScaling = "none"
    held_out: HeldOutUse = "whole"
    edges_between_classes: NonNegative = 0.0
    flipped_labels: Share = 0.0
    held_back_validation: Share = 0.0

    def prepare(
        self,
        graph: Graph,
        *,
        seed: int,
        fitted_on: Graph | ColumnStatistics | None = None,
        choosing: Tensor | None = None,
    ) -> Graph:
        """The graph as training sees it: its validation nodes are those that choose.

        Features are scaled by the columns of ``fitted_on``: the graph of the training where nodes are new, the whole
        graph where this is a shard of it. Validation nodes are divided in that graph too; ``choosing`` are then those
        of this graph that choose.
        """
        perturbed = self.perturb(graph, seed=seed)
        choosing = self._divided(perturbed).choosing if choosing is None else choosing
        if len(choosing) < len(perturbed.validation):
            perturbed = replace(perturbed, validation=choosing)
        return scale_features(perturbed, self.feature_scaling, fitted_on=fitted_on)

    def certifying_nodes(self, graph: Graph, *, seed: int) -> Tensor:
        """The validation nodes of the graph, as it was loaded, whose labels certify."""
        return self._divided(self._with_held_back_validation(graph, seed=seed)).certifying

    def _divided(self, graph: Graph) -> HeldOutNodes:
        assert graph.shard is None or self.held_out == "whole", "a shard holds only some of the labels to divide"
        return divide(graph.validation, graph.labels[graph.validation], self.held_out)

    @property
    def perturbations(self) -> list[str]:
        """The names of the perturbations that change the graph."""
        return [name for name in PERTURBATIONS if getattr(self, name)]

    def perturb(self, graph: Graph, *, seed: int) -> Graph:
        """The graph with the perturbations; features are not changed."""
        if self.edges_between_classes:
            graph = add_edges_between_classes(graph, self.edges_between_classes, seed=seed)
        if self.flipped_labels:
            graph = flip_training_labels(graph, self.flipped_labels, seed=seed)
        return self._with_held_back_validation(graph, seed=seed)

    def _with_held_back_validation(self, graph: Graph, *, seed: int) -> Graph:
        if not self.held_back_validation:
            return graph
        return shrink_validation_set(graph, self.held_back_validation, seed=seed)


class Targets(BaseModel):
    """Targets of prediction sets and of decisions: see ``confgcn.confidence``.

    Attributes:
        coverage: share of nodes whose prediction set is to contain the true label.
        max_error, delta: with probability 1 - ``delta`` at most ``max_error`` of the accepted labels are wrong.
    """

    model_config = SETTINGS

    coverage: InnerShare = COVERAGE
    max_error: InnerShare = MAX_ERROR
    delta: InnerShare = DELTA


@dataclass(frozen=True)
class Candidate:
    """Settings that a search tries: ``changes`` by name, to the model or to the recipe."""

    name: str
    changes: Mapping[str, Any]

    def applied_to(self, settings: RunSettings) -> RunSettings:
        """The settings with the changes."""
        sections = {name: dict(section) for name, section in settings.sections().items()}
        models = section_models(settings.method, settings.preset)
        for key, value in self.changes.items():
            sections[_section_of(key, models)][key] = value
        where = f"candidate {self.name}"
        changed = RunSettings.checked(settings.method, settings.preset, settings.settings_of, sections, where=where)
        return replace(settings, model=changed.model, recipe=changed.recipe)


@dataclass(frozen=True)
class RunSettings:
    """All settings of a run, complete: what is not in the preset has its default written out.

    Two are not part of a run's record and are not compared: the ``device`` to train on, since a run can be continued
    on another one, and the ``candidates`` of a search, which do not change what the user has set.
    """

    method: str
    preset: str
    settings_of: str  # the data set whose settings these are, ANY if the preset does not depend on it
    data: DataSettings
    model: dict[str, Any]
    recipe: Recipe
    targets: Targets
    device: str = field(default="cpu", compare=False)
    candidates: tuple[Candidate, ...] = field(default=(), compare=False)

    @property
    def searches(self) -> bool:
        """Are the candidates of the preset trained and the best combined?"""
        return self.recipe.search and bool(self.candidates)

    @property
    def method_class(self) -> type[AbstractMethod]:
        return method_class(self.method, self.preset)

    def as_dict(self) -> dict[str, Any]:
        """As written into a run's config.json."""
        return {"method": self.method, "preset": self.preset, "settings_of": self.settings_of, **self.sections()}

    def sections(self) -> Sections:
        """The settings by section."""
        checked = {name: getattr(self, name).model_dump() for name in ("data", "recipe", "targets")}
        return {"data": checked["data"], "model": self.model, **checked}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> RunSettings:
        """The settings in the content of a config.json, checked."""
        method, preset = config["method"], config["preset"]
        check_method(method)
        if METHODS[method].presets:  # the preset names the model
            _preset(method, preset)
        return cls.checked(method, preset, config["settings_of"], config, where=f"settings of {method}")

    @classmethod
    def checked(
        cls, method: str, preset: str, settings_of: str, sections: Mapping[str, Any], *, where: str
    ) -> RunSettings:
        """Sections of settings, checked against their models and completed with defaults."""
        return cls(
            method,
            preset,
            settings_of,
            validated(DataSettings, sections["data"], where=where),
            validated(hyperparameters(method_class(method, preset)), sections["model"], where=where).model_dump(),
            validated(Recipe, sections["recipe"], where=where),
            validated(Targets, sections["targets"], where=where),
        )


def section_models(method: str, preset: str) -> dict[str, type[BaseModel]]:
    """What the settings of each section are checked against."""
    model = hyperparameters(method_class(method, preset))
    return {"data": DataSettings, "model": model, "recipe": Recipe, "targets": Targets}


def preset_names(method: str) -> list[str]:
    """The presets of a method."""
    return sorted(key for key, value in _tables(method).items() if isinstance(value, dict))


def resolve(method: str, preset: str, dataset: str, overrides: Mapping[str, Any]) -> RunSettings:
    """The settings of ``method`` on ``dataset``: of the preset, then of its data set, then ``overrides``.

    ``overrides`` maps plain names of settings to values; each is put into the section that defines it.
    """
    table = _tables(method)
    name = table["default"] if preset == "default" else preset
    chosen = _preset(method, name)
    settings_of = dataset if dataset in chosen.get("datasets", {}) else chosen.get("fallback", ANY)
    sections = _merged(chosen, chosen.get("datasets", {}).get(settings_of, {}))
    for key, value in overrides.items():
        sections[_section_of(key, section_models(method, name))][key] = value
    settings = RunSettings.checked(method, name, settings_of, sections, where=f"settings of {method} ({name})")
    check_batches(settings.method_class, settings.recipe)
    candidates = tuple(
        Candidate(name, {key: value for key, value in changes.items() if key not in overrides})
        for name, changes in chosen.get("candidates", {}).items()
    )
    if overrides.get("search") and not candidates:
        raise UsageError(f"search = true: preset {name} of {method} has no candidates to search; leave it out")
    return replace(settings, candidates=candidates)


def joined_settings(method: str, preset: str, files: Sequence[tuple[Path | None, Mapping[str, Any]]]) -> dict[str, Any]:
    """The settings of several files, of which later ones take precedence; an error names the file."""
    joined: dict[str, Any] = {}
    resolve(method, preset, "", joined)  # an unknown preset is not an error of a file
    for path, settings in files:
        with naming(path) if path else nullcontext():
            resolve(method, preset, "", settings)
        joined |= settings
    return joined


def make_method(graph: Graph, settings: RunSettings) -> AbstractMethod:
    """A new method for the graph."""
    return settings.method_class(Shape.of(graph), **settings.model)


@cache
def hyperparameters(method: type[AbstractMethod]) -> type[BaseModel]:
    """The model that checks a method's hyperparameters, read off the signature of its constructor."""
    hints = get_type_hints(method.__init__, include_extras=True)
    parameters = inspect.signature(method.__init__).parameters.values()
    fields: dict[str, Any] = {
        p.name: (hints[p.name], p.default) for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY
    }
    return create_model(method.__name__, __config__=SETTINGS, **fields)


@cache
def _tables(method: str) -> dict[str, Any]:
    method_class(method)  # raises for an unknown method
    tables: dict[str, Any] = {}
    for folder in PRESET_FOLDERS:
        path = FOLDER / folder / f"{method}.toml"
        for key, value in read_toml(path).items() if path.is_file() else ():
            if key in tables:
                raise UsageError(f"{path}: {key!r} is already defined for {method}")
            tables[key] = value
    return tables


def _preset(method: str, name: str) -> dict[str, Any]:
    if name not in preset_names(method):
        raise unknown_name(f"preset of {method}", name, [*preset_names(method), "default"])
    own: dict[str, Any] = _tables(method)[name]
    for table in (own, *own.get("datasets", {}).values()):
        for key in table:
            if key not in (*SECTIONS, "candidates", "datasets", "extends", "fallback"):
                raise unknown_name(f"section of preset {name}", key, SECTIONS)
    if "extends" not in own:
        return own
    base = _preset(method, own["extends"])
    inherited, added = base.get("datasets", {}), own.get("datasets", {})
    datasets = {key: _merged(inherited.get(key, {}), added.get(key, {})) for key in {**inherited, **added}}
    return {**base, **own, **_merged(base, own), "datasets": datasets}


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> Sections:
    return {section: {**base.get(section, {}), **own.get(section, {})} for section in SECTIONS}


def _section_of(key: str, models: Mapping[str, type[BaseModel]]) -> str:
    for section, model in models.items():
        if key in model.model_fields:
            return section
    raise unknown_name("setting", key, [name for model in models.values() for name in model.model_fields])
