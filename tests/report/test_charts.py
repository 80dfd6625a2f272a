"""Charts made of markup: axes that can be read, names that do not hide each other, no text that is markup."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import pytest

from confgcn.report.charts import (
    HEIGHT,
    LINE_HEIGHT,
    Axis,
    Chart,
    Line,
    plain_number,
    powers_of_ten,
    round_steps,
    spread_apart,
    thinned,
)

SVG = "{http://www.w3.org/2000/svg}"


def drawn(**changes: object) -> ElementTree.Element:
    lines = [Line("one", [(0, 0), (10, 1)], "first"), Line("two", [(0, 1), (10, 0.99)], "second", has_dots=True)]
    options = {"title": "A <title>", "description": "What & why", "x": Axis("steps", 0, 10), "lines": lines}
    chart = Chart(**{"y": Axis("share", 0, 1, is_percent=True), **options, **changes})  # type: ignore[arg-type]
    return ElementTree.fromstring(str(chart.svg()).replace("<svg ", f'<svg xmlns="{SVG[1:-1]}" ', 1))  # noqa: S314


def words(picture: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in picture.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0.5, 1, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        (1, 500, [100, 200, 300, 400, 500]),
        (-3, 3, [-2, 0, 2]),
        (2, 2, [2]),
    ],
)
def test_ticks_are_round_numbers_within_the_axis(low: float, high: float, expected: list[float]) -> None:
    assert round_steps(low, high) == pytest.approx(expected)


def test_a_logarithmic_axis_has_powers_of_ten_and_every_other_of_many() -> None:
    assert powers_of_ten(0.02, 300) == pytest.approx([0.1, 1, 10, 100])
    assert powers_of_ten(1e-6, 1) == pytest.approx([1e-6, 1e-4, 1e-2, 1])
    assert Axis("loss", 0.01, 100, is_log=True).share(1) == pytest.approx(0.5)


def test_small_numbers_are_written_as_powers() -> None:
    assert [plain_number(value) for value in (0.1, 1e-5, 2e-6, 1e7, 300)] == ["0.1", "10⁻⁵", "2×10⁻⁶", "10⁷", "300"]


def test_names_stand_apart_and_stay_within_bounds() -> None:
    moved = spread_apart([50, 10, 51, 99], 20, 0, 100)
    heights = sorted(moved)
    assert all(above - below >= 20 for below, above in itertools.pairwise(heights))
    assert [moved.index(height) for height in heights] == [1, 0, 2, 3]
    assert min(moved) >= 0
    assert max(moved) <= 100
    assert spread_apart([10, 50], 20, 0, 100) == [10, 50]


def test_a_long_line_is_thinned_to_its_ends_and_what_is_between() -> None:
    points = [(float(n), 0.0) for n in range(1001)]
    kept = thinned(points, 11)
    assert [x for x, _ in kept] == pytest.approx([100.0 * n for n in range(11)])
    assert thinned(points[:5], 11) == points[:5]


def test_points_stand_where_the_axes_say() -> None:
    picture = drawn(has_line_labels=False)
    first = picture.find(f"{SVG}polyline")
    assert first is not None
    (x0, y0), (x1, y1) = [tuple(map(float, pair.split(","))) for pair in first.attrib["points"].split()]
    axis = next(
        line
        for line in picture.iter(f"{SVG}line")
        if line.attrib["class"] == "axis" and line.attrib["y1"] == line.attrib["y2"]
    )
    assert (x0, x1) == (float(axis.attrib["x1"]), float(axis.attrib["x2"]))
    assert y0 == float(axis.attrib["y1"])
    assert y1 < y0 < HEIGHT


def test_lines_are_named_at_their_ends_without_hiding_each_other() -> None:
    names = [text for text in drawn().iter(f"{SVG}text") if text.attrib["class"].startswith("name")]
    assert [text.text for text in names] == ["one", "two"]
    heights = [float(text.attrib["y"]) for text in names]
    assert abs(heights[0] - heights[1]) >= LINE_HEIGHT


def test_title_description_axis_labels_and_ticks_are_there_as_text() -> None:
    picture = drawn()
    assert picture.findtext(f"{SVG}title") == "A <title>"
    assert picture.findtext(f"{SVG}desc") == "What & why"
    assert {"steps", "share", "20 %", "100 %", "10"} <= set(words(picture))
    assert picture.attrib["role"] == "img"


def test_hostile_text_stays_text() -> None:
    hostile = "</text><script>alert(1)</script>"
    picture = drawn(lines=[Line(hostile, [(0, 0), (1, 1)], "first")], x=Axis(hostile, 0, 10), marker=(5, hostile))
    assert words(picture).count(hostile) == 3
    assert not list(picture.iter(f"{SVG}script"))


def test_band_marker_and_diagonal_are_optional() -> None:
    picture = drawn(
        x=Axis("x", 0, 1), lines=[], band=[(0, 0, 0.5), (1, 0.5, 1)], marker=(0.25, "here"), has_diagonal=True
    )
    polygon = picture.find(f"{SVG}polygon")
    assert polygon is not None
    assert len(re.findall(",", polygon.attrib["points"])) == 4
    assert {"rule", "diagonal"} <= {line.attrib["class"] for line in picture.iter(f"{SVG}line")}
    assert "here" in words(picture)
    assert drawn().find(f"{SVG}polygon") is None
