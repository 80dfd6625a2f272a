"""Which jobs follow from what is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.exceptions import UsageError
from reproduction.jobs import Job, Variant
from reproduction.scope import Scope

GCN, FEAT = Variant("Kipf-GCN", "gcn"), Variant("Feat", "feat")


def test_every_variant_on_every_data_set_with_every_seed() -> None:
    jobs = Scope(seeds=2).jobs(("cora", "citeseer"), (GCN, FEAT))
    assert len(jobs) == len(set(jobs)) == 8
    assert jobs[:3] == [Job("cora", GCN, 0), Job("cora", GCN, 1), Job("cora", FEAT, 0)]


def test_data_sets_and_methods_can_be_chosen() -> None:
    scope = Scope(seeds=1, datasets=("demo",), methods=("feat", "gat"))
    assert scope.jobs(("cora", "citeseer"), (GCN, FEAT)) == [Job("demo", FEAT, 0)]
    assert scope.datasets_or(("cora",)) == ("demo",)
    assert Scope().datasets_or(["cora"]) == ("cora",)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": 0}, "seeds = 0: expected a whole number from 1"),
        ({"datasets": ("coar",)}, "did you mean 'cora'"),
        ({"methods": ("gnc",)}, "did you mean 'gcn'"),
    ],
)
def test_what_cannot_be_used_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Scope(**wrong)
