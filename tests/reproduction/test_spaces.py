"""The search spaces of the tuned presets."""

from __future__ import annotations

from pathlib import Path

import pytest

import reproduction
from confgcn.io.toml import read_toml
from confgcn.models.registry import METHODS, method_class
from confgcn.runs.settings import DataSettings, hyperparameters, preset_names
from confgcn.training.recipe import Recipe

VARIANTS = [(method, preset) for method in METHODS for preset in preset_names(method)]
SPACES = sorted((Path(reproduction.__file__).parent / "spaces").glob("*.toml"))


def test_there_is_a_space_for_the_default_preset() -> None:
    assert "confgcn_consensus" in {space.stem for space in SPACES}


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.stem)
def test_a_search_space_names_existing_settings(space: Path) -> None:
    models = [DataSettings, Recipe, *(hyperparameters(method_class(*variant)) for variant in VARIANTS)]
    assert set(read_toml(space)) <= {name for model in models for name in model.model_fields}
