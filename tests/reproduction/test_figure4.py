"""Figure 4: the removed terms, their effect, and the claim of Q4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reproduction.artefacts import ARTEFACTS
from reproduction.figure4 import CUMULATIVE, ORDER, PRESETS, SINGLE, check_claims, draw, jobs, numbers, tables, without
from reproduction.jobs import Scope
from reproduction.rendering import FAILS, HOLDS, PARTLY, UNKNOWN
from reproduction.results import Results
from reproduction.table2 import PAPER, RELEASED


def test_removed_terms_have_weight_zero_and_nothing_else_changes() -> None:
    plain = PAPER.settings("citeseer")
    bare = without(PAPER, ("reg", "smooth")).settings("citeseer")
    assert bare.model == {**plain.model, "lambda_reg": 0.0, "lambda_smooth": 0.0}
    assert (bare.recipe, bare.data) == (plain.recipe, plain.data)
    assert without(PAPER, ()).settings("citeseer") == plain


def test_terms_are_removed_cumulatively_and_one_at_a_time() -> None:
    assert CUMULATIVE == (("reg",), ("reg", "const"), ("reg", "const", "label"), ("reg", "const", "label", "smooth"))
    assert SINGLE == (("reg",), ("const",), ("label",), ("smooth",))


def test_removing_a_term_with_zero_weight_needs_no_run() -> None:
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
    assert (released["zero_weight"], paper["zero_weight"]) == (["label"], [])
    assert released["full"]["mean"] == pytest.approx(0.75)
    for way in ("single", "cumulative"):
        first = released[way][0]
        assert first["removed"] == ["reg"]
        assert first["difference"]["mean"] == pytest.approx((-0.1 + 0.1) / 2)
    assert released["single"][1]["accuracy"] is None
    assert paper["full"] is None
    assert paper["single"][3]["accuracy"]["mean"] == 0.6
    assert paper["single"][3]["difference"] is None


HELPS, NOTHING, HARMS = (-0.03, -0.02, -0.01), (-0.01, 0.0, 0.01), (0.01, 0.02, 0.03)
FEW = (None, -0.02, None)  # seeds, to say how steady it is
Difference = tuple[float | None, float, float | None]


def accuracy(mean: float) -> dict[str, Any]:
    return {"mean": mean, "std": 0.01, "runs": 10, "diverged": 0}


def removal(removed: tuple[str, ...], difference: Difference | None) -> dict[str, Any]:
    named = dict(zip(("low", "mean", "high"), difference, strict=True)) if difference else None
    return {"removed": list(removed), "accuracy": accuracy(0.7) if difference else None, "difference": named}


def preset(
    *differences: Difference | None, zero_weight: tuple[str, ...] = (), title: str = "ConfGCN `paper`"
) -> dict[str, Any]:
    return {
        "title": title,
        "zero_weight": list(zero_weight),
        "full": accuracy(0.72),
        "cumulative": [removal(ORDER[: place + 1], d) for place, d in enumerate(differences)],
        "single": [removal((ORDER[place],), d) for place, d in enumerate(differences)],
    }


def numbers_of(*presets: dict[str, Any]) -> dict[str, Any]:
    return {"datasets": {"citeseer": list(presets)}}


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (preset(HELPS, HELPS, HELPS, HELPS), HOLDS),
        (preset(HELPS, HELPS, NOTHING, HELPS), PARTLY),
        (preset(HELPS, HELPS, NOTHING, HELPS, zero_weight=("label",)), HOLDS),
        (preset(NOTHING, NOTHING, HARMS, NOTHING), FAILS),
        (preset(FEW, FEW, FEW, FEW), UNKNOWN),
        (preset(HELPS, FEW, HELPS, HELPS), HOLDS),
        (preset(None, None, None, None), UNKNOWN),
        ({**preset(HELPS, HELPS, HELPS, HELPS), "full": None}, UNKNOWN),
    ],
    ids=[
        "all",
        "one does not",
        "one is absent",
        "one harms",
        "few seeds",
        "one of few seeds",
        "no ablation",
        "no full objective",
    ],
)
def test_the_claim_needs_every_removal_to_lower_the_accuracy(found: dict[str, Any], outcome: str) -> None:
    (check,) = check_claims(numbers_of(found))
    assert check.outcome == outcome


def test_the_evidence_names_every_term_and_the_bare_objective() -> None:
    (check,) = check_claims(numbers_of(preset(HELPS, NOTHING, HARMS, HELPS, zero_weight=("label",))))
    assert "L_reg −2.0 [−3.0, −1.0], L_const 0.0 [−1.0, +1.0] and L_smooth −2.0 [−3.0, −1.0] points" in check.evidence
    assert "The weight of L_label is already zero" in check.evidence
    assert "L_cross alone: 70.0 ± 1.0, −2.0 [−3.0, −1.0]" in check.evidence


def test_the_table_has_each_removal_once() -> None:
    released = preset(HELPS, NOTHING, HARMS, HELPS, zero_weight=("label",), title="ConfGCN `released`")
    (table,) = tables(numbers_of(released, preset(None, None, None, None))).values()
    removed = [row[0] for row in table.rows]
    assert removed == [
        "nothing",
        "reg",
        "reg, const",
        "reg, const, label",
        "reg, const, label, smooth",
        "const",
        "label",
        "smooth",
    ]
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["nothing"] == ["72.0 ± 1.0", "", "72.0 ± 1.0", ""]
    assert rows["reg"] == ["70.0 ± 1.0", "−2.0 [−3.0, −1.0]", "–", "–"]
    assert rows["label"][:2] == ["70.0 ± 1.0", "weight is already zero"]
    assert rows["reg, const, label"][1] == "+2.0 [+1.0, +3.0]"
    assert all(len(row) == len(table.header) for row in table.rows)


def test_a_panel_for_each_way_of_removing() -> None:
    pytest.importorskip("matplotlib")
    figure = draw(numbers_of(preset(HELPS, HELPS, HELPS, HELPS), preset(None, None, None, None)))
    assert figure is not None
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_xticklabels()][:3] == ["all terms", "−reg", "−reg\n−const"]
    assert [tick.get_text() for tick in right.get_xticklabels()][:3] == ["all terms", "−reg", "−const"]
    assert [len(container[0].get_xdata()) for container in left.containers] == [5, 1]


def test_it_can_be_written() -> None:
    pytest.importorskip("matplotlib")
    assert ARTEFACTS["figure4"].pictures(numbers_of(preset(HELPS, NOTHING, None, HARMS))).keys() == {
        "figure4.svg",
        "figure4.png",
    }


def test_without_runs_there_is_no_picture_and_no_table() -> None:
    nothing = numbers_of({**preset(HELPS), "full": None})
    assert draw(nothing) is None
    assert tables(nothing) == {}
