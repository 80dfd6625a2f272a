"""Figure 4: what a term of the objective is worth."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.drawing.figure4 import draw, tables, verdicts
from reproduction.render import pictures_of
from reproduction.verdict import FAILS, HOLDS, IN_PART, UNKNOWN

ORDER = ("reg", "const", "label", "smooth")
HELPS, NOTHING, HARMS = (-0.03, -0.02, -0.01), (-0.01, 0.0, 0.01), (0.01, 0.02, 0.03)
FEW = (None, -0.02, None)  # seeds, to say how steady it is
Difference = tuple[float | None, float, float | None]


def accuracy(mean: float) -> dict[str, Any]:
    return {"mean": mean, "std": 0.01, "runs": 10, "diverged": 0}


def removal(removed: tuple[str, ...], difference: Difference | None) -> dict[str, Any]:
    named = dict(zip(("low", "mean", "high"), difference, strict=True)) if difference else None
    return {"removed": list(removed), "accuracy": accuracy(0.7) if difference else None, "difference": named}


def preset(
    *differences: Difference | None, absent: tuple[str, ...] = (), title: str = "ConfGCN `paper`"
) -> dict[str, Any]:
    return {
        "title": title,
        "absent": list(absent),
        "full": accuracy(0.72),
        "cumulative": [removal(ORDER[: place + 1], d) for place, d in enumerate(differences)],
        "single": [removal((ORDER[place],), d) for place, d in enumerate(differences)],
    }


def numbers(*presets: dict[str, Any]) -> dict[str, Any]:
    return {"datasets": {"citeseer": list(presets)}}


@pytest.mark.parametrize(
    ("found", "finding"),
    [
        (preset(HELPS, HELPS, HELPS, HELPS), HOLDS),
        (preset(HELPS, HELPS, NOTHING, HELPS), IN_PART),
        (preset(HELPS, HELPS, NOTHING, HELPS, absent=("label",)), HOLDS),
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
def test_does_every_term_help(found: dict[str, Any], finding: str) -> None:
    (verdict,) = verdicts(numbers(found))
    assert verdict.finding == finding


def test_the_text_names_every_term_and_what_is_left_without_them() -> None:
    (verdict,) = verdicts(numbers(preset(HELPS, NOTHING, HARMS, HELPS, absent=("label",))))
    assert "L_reg −2.0 [−3.0, −1.0], L_const 0.0 [−1.0, +1.0] and L_smooth −2.0 [−3.0, −1.0] points" in verdict.text
    assert "L_label had weight zero already" in verdict.text
    assert "L_cross alone: 70.0 ± 1.0, −2.0 [−3.0, −1.0]" in verdict.text


def test_the_table_has_each_removal_once() -> None:
    released = preset(HELPS, NOTHING, HARMS, HELPS, absent=("label",), title="ConfGCN `released`")
    (table,) = tables(numbers(released, preset(None, None, None, None))).values()
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
    assert rows["label"][:2] == ["70.0 ± 1.0", "its weight is zero already"]
    assert rows["reg, const, label"][1] == "+2.0 [+1.0, +3.0]"
    assert all(len(row) == len(table.header) for row in table.rows)


def test_a_panel_for_each_way_of_removing() -> None:
    pytest.importorskip("matplotlib")
    figure = draw(numbers(preset(HELPS, HELPS, HELPS, HELPS), preset(None, None, None, None)))
    assert figure is not None
    left, right = figure.axes
    assert [tick.get_text() for tick in left.get_xticklabels()][:3] == ["all terms", "−reg", "−reg\n−const"]
    assert [tick.get_text() for tick in right.get_xticklabels()][:3] == ["all terms", "−reg", "−const"]
    assert [len(container[0].get_xdata()) for container in left.containers] == [5, 1]


def test_it_can_be_written() -> None:
    pytest.importorskip("matplotlib")
    assert pictures_of("figure4", numbers(preset(HELPS, NOTHING, None, HARMS))).keys() == {"figure4.svg", "figure4.png"}


def test_nothing_to_show() -> None:
    nothing = numbers({**preset(HELPS), "full": None})
    assert draw(nothing) is None
    assert tables(nothing) == {}
