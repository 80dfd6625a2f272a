"""The panels and lines of the figures."""

from __future__ import annotations

import pytest

from reproduction.plots import FILLS, MARKERS, draw_line, new_figure

pytest.importorskip("matplotlib")


def test_a_grid_has_its_rows_and_columns() -> None:
    figure, axes = new_figure(rows=2, columns=3)
    assert [len(row) for row in axes] == [3, 3]
    assert len(figure.axes) == 6
    assert len(new_figure(rows=1, columns=1)[1][0]) == 1


def test_a_line_shows_means_in_percent_and_leaves_gaps_where_there_are_none() -> None:
    axis = new_figure(rows=1, columns=1)[1][0][0]
    cells = [{"mean": 0.5, "std": 0.1}, None, {"mean": None, "std": None}, {"mean": 0.25, "std": None}]
    draw_line(axis, range(4), cells, 0, "ConfGCN `paper`")
    (container,) = axis.containers
    line, _, (bars,) = container
    assert line.get_xydata().tolist() == [[0, 50], [3, 25]]
    assert [segment[:, 1].tolist() for segment in bars.get_segments()] == [
        [pytest.approx(40), pytest.approx(60)],
        [25, 25],
    ]
    assert container.get_label() == "ConfGCN paper"


def test_overlapping_lines_are_drawn_side_by_side() -> None:
    axis = new_figure(rows=1, columns=1)[1][0][0]
    for number in range(3):
        draw_line(axis, [1.0], [{"mean": 0.5, "std": None}], number, str(number), num_lines=3)
    places = [container[0].get_xdata()[0] for container in axis.containers]
    assert places == sorted(set(places))
    assert sum(places) / 3 == pytest.approx(1.0)


def test_markers_and_fills_are_distinct_and_repeat_after_the_last() -> None:
    assert len(set(zip(MARKERS, FILLS, strict=True))) == len(MARKERS)
    axis = new_figure(rows=1, columns=1)[1][0][0]
    draw_line(axis, [0.0, 1.0], [{"mean": 0.5, "std": None}] * 2, len(MARKERS), "more", joined=False)
    assert axis.containers[0][0].get_marker() == MARKERS[0][0]
    assert axis.containers[0][0].get_linestyle() == "None"
