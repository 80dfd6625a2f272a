"""Figure 4's ablations: which terms are removed, and what that changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reproduction.figure4 import CUMULATIVE, PRESETS, SINGLE, jobs, numbers, without
from reproduction.results import Results
from reproduction.scope import Scope
from reproduction.table2 import PAPER, RELEASED


def test_removed_terms_have_weight_zero_and_nothing_else_changes() -> None:
    plain = PAPER.settings("citeseer")
    bare = without(PAPER, ("reg", "smooth")).settings("citeseer")
    assert bare.model == {**plain.model, "lambda_reg": 0.0, "lambda_smooth": 0.0}
    assert (bare.recipe, bare.data) == (plain.recipe, plain.data)
    assert without(PAPER, ()).settings("citeseer") == plain


def test_terms_go_one_after_the_other_and_one_at_a_time() -> None:
    assert CUMULATIVE == (("reg",), ("reg", "const"), ("reg", "const", "label"), ("reg", "const", "label", "smooth"))
    assert SINGLE == (("reg",), ("const",), ("label",), ("smooth",))


def test_a_term_that_is_absent_already_needs_no_other_run() -> None:
    wanted = jobs(Scope(seeds=1, datasets=("citeseer",)))
    keys = {job.settings_key for job in wanted if job.variant.preset == "released"}
    # all terms; four steps; three more single ones; but two that remove L_label alone, whose weight is zero there
    assert len(keys) == 1 + 4 + 3 - 2


def test_a_difference_is_to_the_full_objective_of_the_same_preset(results: Results, keep: Callable[..., None]) -> None:
    keep("citeseer", RELEASED, 0.7, 0.8)
    keep("citeseer", without(RELEASED, ("reg",)), 0.6, 0.9)
    keep("citeseer", without(PAPER, ("smooth",)), 0.6)
    found = numbers(Scope(datasets=("citeseer",)), results)
    released, paper = found["datasets"]["citeseer"]
    assert [preset["title"] for preset in (released, paper)] == [preset.title for preset in PRESETS]
    assert (released["absent"], paper["absent"]) == (["label"], [])
    assert released["full"]["mean"] == pytest.approx(0.75)
    for way in ("single", "cumulative"):
        first = released[way][0]
        assert first["removed"] == ["reg"]
        assert first["difference"]["mean"] == pytest.approx((-0.1 + 0.1) / 2)
    assert released["single"][1]["accuracy"] is None
    assert paper["full"] is None
    assert paper["single"][3]["accuracy"]["mean"] == 0.6
    assert paper["single"][3]["difference"] is None
