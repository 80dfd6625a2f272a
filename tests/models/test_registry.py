"""The table of methods: every row names a class, and no name is guessed."""

from __future__ import annotations

import re

import pytest

from confgcn.exceptions import UsageError
from confgcn.models.base import AbstractMethod
from confgcn.models.confgcn.consensus import ConsensusConfGCN
from confgcn.models.confgcn.paper import PaperConfGCN
from confgcn.models.confgcn.propagated import PropagatedConfGCN
from confgcn.models.registry import METHODS, check_method, method_class

ROWS = [(method, preset) for method, entry in METHODS.items() for preset in ("default", *entry.presets)]


@pytest.mark.parametrize(("method", "preset"), ROWS, ids="-".join)
def test_every_row_names_a_method_class(method: str, preset: str) -> None:
    found = method_class(method, preset)
    assert issubclass(found, AbstractMethod)
    assert set(METHODS[method].uses) <= {"features", "graph", "confidences"}


@pytest.mark.parametrize("method", sorted(METHODS.keys() - {"confgcn"}))
def test_key_file_and_class_are_the_same_word(method: str) -> None:
    found = method_class(method)
    assert found.__module__ == f"confgcn.models.baselines.{method}"
    assert found.__name__.lower() == method.replace("_", "")


def test_a_preset_that_is_another_model_has_its_own_class() -> None:
    assert method_class("confgcn", "paper") is PaperConfGCN
    assert method_class("confgcn", "consensus") is ConsensusConfGCN
    assert method_class("confgcn", "propagated") is method_class("confgcn") is PropagatedConfGCN


def test_an_unknown_method_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match=re.escape("unknown method 'confgnc': did you mean 'confgcn'?")):
        check_method("confgnc")
