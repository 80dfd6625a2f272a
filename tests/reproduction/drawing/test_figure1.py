"""Figure 1: a node with its neighbours, and whether the influences put nodes right."""

from __future__ import annotations

from typing import Any

import pytest

from reproduction.drawing.figure1 import draw, tables, verdicts
from reproduction.render import pictures_of
from reproduction.verdict import FAILS, HOLDS, IN_PART, UNKNOWN


def neighbour(name: str, *, is_node: bool = False, influence: float = 1.0) -> dict[str, Any]:
    return {
        "name": name,
        "is_node": is_node,
        "true_label": "Rule_Learning",
        "gcn_weight": 1.25,
        "influence": influence,
        "gcn_scores": [0.4, 0.6],
        "scores": [0.0, 0.0] if is_node else [0.25, 0.75],
        "precision": [0.5, 2.0],
    }


def counts(preset: str, nodes: int, lost: int, won: int = 1) -> dict[str, Any]:
    numbers = {"gcn_wrong_confgcn_right": nodes, "lost_without_influence": lost, "right_without_influence": won}
    return {"preset": preset, "seed": 0, **numbers}


def found(*runs: dict[str, Any], uniform_says: str = "Theory", influence: float = 0.75) -> dict[str, Any]:
    node = {
        "name": "31336",
        "labels": ["Theory", "Rule_Learning"],
        "gcn_says": {"label": "Rule_Learning", "probability": 0.6},
        "confgcn_says": {"label": "Theory", "probability": 0.9},
        "uniform_says": {"label": uniform_says, "probability": 0.5},
        "neighbours": [neighbour("1"), neighbour("31336", is_node=True), neighbour("7", influence=influence)],
    }
    return {
        "counts": list(runs),
        "shown": {"preference": 0, "preset": "ConfGCN `paper`", "seed": 4, "node": node},
    }


@pytest.mark.parametrize(
    ("runs", "finding"),
    [
        ([counts("a", 4, 2), counts("a", 2, 1)], HOLDS),
        ([counts("a", 4, 2), counts("b", 4, 1)], IN_PART),
        ([counts("a", 40, 2), counts("a", 2, 2)], FAILS),
        ([counts("a", 0, 0)], FAILS),
        ([], UNKNOWN),
    ],
    ids=["half of them", "one preset of two", "few", "none to put right", "no run"],
)
def test_at_least_half_have_to_be_lost_without_influence(runs: list[dict[str, Any]], finding: str) -> None:
    (verdict,) = verdicts({"datasets": {"demo": found(*runs)}})
    assert verdict.finding == finding


def test_counts_are_added_over_the_runs_of_a_preset() -> None:
    (verdict,) = verdicts({"datasets": {"demo": found(counts("a", 4, 2, 5), counts("a", 3, 1, 6))}})
    assert "Runs of a on demo: 2. In them ConfGCN gets 7 test nodes right that Kipf-GCN gets wrong" in verdict.text
    assert "loses 3 of them" in verdict.text
    assert "wins 11 others" in verdict.text


def test_the_text_says_what_the_picture_shows() -> None:
    (verdict,) = verdicts({"datasets": {"demo": found()}})
    assert "node 31336 in run 4 of ConfGCN `paper`" in verdict.text
    assert "ConfGCN says the same" in verdict.text
    (other,) = verdicts({"datasets": {"demo": found(uniform_says="Rule_Learning")}})
    assert "ConfGCN says another label" in other.text


@pytest.mark.parametrize(
    ("influence", "words"),
    [(0.75, "is 25.0 % away"), (1.001, "is 0.1 % away"), (1.000234, "is 0.02 % away"), (1.0, "is 0 % away")],
)
def test_the_text_says_how_far_the_influences_are_apart(influence: float, words: str) -> None:
    (verdict,) = verdicts({"datasets": {"demo": found(influence=influence)}})
    assert words in verdict.text


def test_counts_without_a_node_to_show_are_judged_all_the_same() -> None:
    nothing_shown = {**found(counts("a", 4, 2)), "shown": None}
    (verdict,) = verdicts({"datasets": {"demo": nothing_shown}})
    assert verdict.finding == HOLDS
    assert "The picture shows" not in verdict.text
    assert tables({"datasets": {"demo": nothing_shown}}) == {}
    assert draw({"datasets": {"demo": nothing_shown}}) is None


def test_the_table_has_a_row_for_each_neighbour() -> None:
    table = tables({"datasets": {"demo": found()}})["demo"]
    assert [row[0] for row in table.rows] == ["1", "the node", "7"]
    assert table.rows[2] == ["7", "Rule_Learning", "1.250", "0.75000", "0.2500", "0.7500", "0.5000", "2.0000"]
    assert all(len(row) == len(table.header) for row in table.rows)


def test_two_panels_a_data_set_and_a_circle_for_each_node() -> None:
    pytest.importorskip("matplotlib")
    nothing_shown = {**found(), "shown": None}
    figure = draw({"datasets": {"demo": found(), "citeseer": nothing_shown, "cora": found()}})
    assert figure is not None
    assert len(figure.axes) == 4
    left, right = figure.axes[:2]
    assert "Kipf-GCN says Rule_Learning (60 %)" in left.get_title()
    assert "ConfGCN paper says Theory (90 %)" in right.get_title()
    widths = sorted(line.get_linewidth() for line in right.lines)
    assert widths[0] == pytest.approx(0.75 * widths[1])
    circles = [patch for patch in left.patches if hasattr(patch, "get_radius")]
    assert len(circles) == 3
    assert len(right.patches) == 3 + 2 * 3  # and two bars of precision each


def test_it_can_be_written() -> None:
    pytest.importorskip("matplotlib")
    assert pictures_of("figure1", {"datasets": {"demo": found()}}).keys() == {"figure1.svg", "figure1.png"}


def test_nothing_to_show() -> None:
    assert draw({"datasets": {}}) is None
    assert tables({"datasets": {}}) == {}
    assert verdicts({"datasets": {}})[0].finding == UNKNOWN
