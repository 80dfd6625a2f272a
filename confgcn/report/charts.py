"""Line charts as SVG markup: two axes, lines labelled at their ends, points, a band and a vertical marker."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

WIDTH, HEIGHT = 460, 300
LEFT, TOP, BOTTOM = 58, 14, 48
RIGHT, RIGHT_WITH_LABELS = 16, 104  # labels at the ends of lines need space
LINE_HEIGHT = 14  # smallest distance of two labels
MAX_TICKS = 6
MANY_DECADES = 4  # beyond, every other power of ten has no tick
MAX_POINTS = 300  # of a line

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high``; ``marks`` are ticks with labels of their own."""

    label: str
    low: float
    high: float
    is_log: bool = False
    is_percent: bool = False
    marks: Sequence[tuple[float, str]] = ()

    def share(self, value: float) -> float:
        """The position of a value on the axis, from 0 to 1."""
        low, high, value = (math.log10(x) if self.is_log else x for x in (self.low, self.high, value))
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self) -> Sequence[tuple[float, str]]:
        """Values and their labels."""
        if self.marks:
            return self.marks
        values = powers_of_ten(self.low, self.high) if self.is_log else round_steps(self.low, self.high)
        return [(value, f"{100 * value:.4g} %" if self.is_percent else plain_number(value)) for value in values]


@dataclass(frozen=True)
class Line:
    """``style`` is its class in the style sheet; points are joined by a line unless ``is_joined`` is false."""

    name: str
    points: Sequence[Point]
    style: str
    is_joined: bool = True
    has_dots: bool = False


@dataclass(frozen=True)
class Chart:
    """A line chart; ``band`` has (x, low, high), ``marker`` is a vertical line at x with a label."""

    title: str
    description: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    band: Sequence[tuple[float, float, float]] = ()
    has_diagonal: bool = False
    marker: tuple[float, str] | None = None
    has_line_labels: bool = True

    def svg(self) -> Markup:
        """The chart as markup."""
        shapes = [*self._axes(), *self._band(), *self._diagonal(), *self._marker()]
        shapes += [shape for line in self.lines for shape in self._line(line)]
        shapes += self._line_labels() if self.has_line_labels else []
        head = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>').format(
            WIDTH, HEIGHT, self.title, self.description
        )
        return head + Markup("").join(shapes) + Markup("</svg>")

    @property
    def _right(self) -> int:
        return WIDTH - (RIGHT_WITH_LABELS if self.has_line_labels else RIGHT)

    def place(self, point: Point) -> Point:
        """The position of a data point in the picture."""
        x, y = self.x.share(point[0]), self.y.share(point[1])
        return round(LEFT + x * (self._right - LEFT), 1), round(HEIGHT - BOTTOM - y * (HEIGHT - BOTTOM - TOP), 1)

    def _axes(self) -> Iterable[Markup]:
        bottom = HEIGHT - BOTTOM
        for value, text in self.y.ticks():
            y = self.place((self.x.low, value))[1]
            yield _stroke((LEFT, y), (self._right, y), "grid")
            yield _text(LEFT - 7, y + 4, text, "tick", "end")
        for value, text in self.x.ticks():
            x = self.place((value, self.y.low))[0]
            yield _stroke((x, bottom), (x, bottom + 4), "axis")
            yield _text(x, bottom + 17, text, "tick", "middle")
        yield _stroke((LEFT, bottom), (self._right, bottom), "axis")
        yield _text((LEFT + self._right) / 2, HEIGHT - 8, self.x.label, "label", "middle")
        middle = (TOP + bottom) / 2
        yield Markup(
            '<text class="label" text-anchor="middle" transform="translate(13 {}) rotate(-90)">{}</text>'
        ).format(middle, self.y.label)

    def _band(self) -> Iterable[Markup]:
        if self.band:
            outline = [(x, low) for x, low, _ in self.band] + [(x, high) for x, _, high in reversed(self.band)]
            yield Markup('<polygon class="band" points="{}"/>').format(self._path(outline))

    def _diagonal(self) -> Iterable[Markup]:
        if self.has_diagonal:
            low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
            yield _stroke(self.place((low, low)), self.place((high, high)), "diagonal")

    def _marker(self) -> Iterable[Markup]:
        if self.marker is not None:
            value, text = self.marker
            x = self.place((value, self.y.low))[0]
            yield _stroke((x, TOP), (x, HEIGHT - BOTTOM), "rule")
            is_left = self.x.share(value) < 0.5
            yield _text(x + (5 if is_left else -5), TOP + 10, text, "tick", "start" if is_left else "end")

    def _line(self, line: Line) -> Iterable[Markup]:
        if line.is_joined:
            yield Markup('<polyline class="line {}" points="{}"/>').format(line.style, self._path(line.points))
        if line.has_dots:
            for point in line.points:
                yield Markup('<circle class="dot {}" cx="{}" cy="{}" r="4"/>').format(line.style, *self.place(point))

    def _line_labels(self) -> Iterable[Markup]:
        """The name of each line at its end; overlapping names are moved apart."""
        ends = [(self.place(line.points[-1]), line) for line in self.lines if line.points]
        heights = spread_apart([y for (_, y), _ in ends], LINE_HEIGHT, TOP + 4, HEIGHT - BOTTOM)
        for ((x, y), line), height in zip(ends, heights, strict=True):
            if abs(height - y) > 1:
                yield _stroke((x + 4, y), (self._right + 10, height), f"lead {line.style}")
            yield _text(self._right + 13, height + 4, line.name, f"name {line.style}", "start")

    def _path(self, points: Sequence[Point]) -> str:
        return " ".join(f"{x},{y}" for x, y in map(self.place, points))


def round_steps(low: float, high: float) -> list[float]:
    """At most six round values, one, two or five times a power of ten apart."""
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / MAX_TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10) if (high - low) / (power * factor) < MAX_TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def powers_of_ten(low: float, high: float) -> list[float]:
    """The powers of ten between two positive numbers; every other one where there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1, 2 if last - first > MANY_DECADES else 1)]


def plain_number(value: float) -> str:
    """A short decimal such as 0.1, or 2×10⁻⁵."""
    factor, e, power = f"{value:g}".partition("e")
    if not e:
        return factor
    return ("" if factor == "1" else f"{factor}×") + "10" + str(int(power)).translate(SUPERSCRIPTS)


def spread_apart(places: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """The positions moved to be ``distance`` apart, between ``low`` and ``high``."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    moved = list(places)
    bound = low
    for number in order:
        moved[number] = max(places[number], bound)
        bound = moved[number] + distance
    bound = high
    for number in reversed(order):
        moved[number] = min(moved[number], bound)
        bound = moved[number] - distance
    return moved


def thinned(points: Sequence[Point], most: int = MAX_POINTS) -> list[Point]:
    """At most that many of the points, evenly spaced, with the last one."""
    if len(points) <= most:
        return list(points)
    return [points[round(number * (len(points) - 1) / (most - 1))] for number in range(most)]


def _stroke(start: Point, end: Point, style: str) -> Markup:
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(style, *start, *end)


def _text(x: float, y: float, text: str, style: str, anchor: str) -> Markup:
    pattern = Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>')
    return pattern.format(style, round(x, 1), round(y, 1), anchor, escape(text))
