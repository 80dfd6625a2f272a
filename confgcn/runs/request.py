"""The request of a training, and the content of config.json that follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from confgcn.exceptions import UsageError, unknown_name
from confgcn.graph import Graph
from confgcn.io.device import available_device
from confgcn.limits import MAX_SEED, MAX_SEEDS, MAX_SPLIT_SEED, MAX_THREADS
from confgcn.runs.directory import IfExists
from confgcn.runs.graph_input import GraphInput, as_input
from confgcn.runs.settings import ANY, RunSettings, resolve


@dataclass(frozen=True)
class RunRequest:
    """One training, or one for each of several seeds: what to train, on which graph, and where to write it.

    ``graph`` is a name of ``confgcn datasets``, a path to a user's files, a graph, or any ``GraphInput``. Run i of
    ``seeds`` has seed ``seed + i`` and, where the split is drawn, split seed ``split_seed + i`` unless it is fixed.
    """

    graph: str | Path | Graph | GraphInput
    method: str = "confgcn"
    preset: str = "default"
    seed: int = 0
    seeds: int = 1
    split_seed: int = 0
    fixed_split: bool = False
    data_dir: Path | str | None = None
    threads: int = 1  # results are the same to the last bit on any number of cores
    device: str = "cpu"
    overrides: dict[str, Any] = field(default_factory=dict)
    out: Path | str | None = None
    if_exists: IfExists = "refuse"

    def __post_init__(self) -> None:
        for name, lowest, highest in (
            ("seed", 0, MAX_SEED),
            ("seeds", 1, MAX_SEEDS),
            ("split_seed", 0, MAX_SPLIT_SEED),
            ("threads", 1, MAX_THREADS),
        ):
            value = getattr(self, name)
            if type(value) is not int or not lowest <= value <= highest:
                raise UsageError(f"{name} = {value!r}: expected a whole number from {lowest} to {highest}")
        available_device(self.device)
        if self.if_exists not in get_args(IfExists):
            raise unknown_name("value of if_exists", str(self.if_exists), get_args(IfExists))

    @cached_property
    def graph_input(self) -> GraphInput:
        """Where the graph comes from."""
        return as_input(self.graph, self.data_dir)

    def settings(self) -> RunSettings:
        """The settings of the preset; only a built-in data set selects settings by its name."""
        name = self.graph_input.name if self.graph_input.is_named else ""
        return replace(resolve(self.method, self.preset, name, self.overrides), device=self.device)

    def split_seed_of(self, run: int) -> int:
        """The split seed of the i-th run."""
        is_drawn_again = self.graph_input.draws_split and not self.fixed_split
        return self.split_seed + run if is_drawn_again else self.split_seed


def run_config(request: RunRequest, run: int = 0) -> dict[str, Any]:
    """The content of config.json of the i-th run."""
    place = {"dataset": request.graph_input.name, "seed": request.seed + run, "split_seed": request.split_seed_of(run)}
    return {**place, **request.graph_input.record(), **request.settings().as_dict()}


def settings_notices(request: RunRequest, settings: RunSettings) -> list[str]:
    """A notice where a preset has no settings for the data set and uses those of another."""
    name = request.graph_input.name
    if settings.settings_of == ANY or (request.graph_input.is_named and settings.settings_of == name):
        return []
    return [f"{name} has no settings of its own in preset {settings.preset}: using those of {settings.settings_of}"]
