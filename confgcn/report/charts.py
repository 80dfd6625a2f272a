"""Charts as SVG markup, from numbers alone: two axes, and on them lines named at their ends, points, a band, a rule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

WIDTH, HEIGHT = 460, 300
LEFT, TOP, BOTTOM = 58, 14, 48
RIGHT, RIGHT_OF_NAMES = 16, 104  # names at the ends of lines need room
LINE_HEIGHT = 14  # the least distance of two names
MOST_TICKS = 6
MANY_DECADES = 4  # beyond, every other power of ten has no tick
MOST_POINTS = 300  # of a line; an eye sees no more

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high``; ``marks`` are ticks with words of their own."""

    label: str
    low: float
    high: float
    is_log: bool = False
    is_percent: bool = False
    marks: Sequence[tuple[float, str]] = ()

    def share(self, value: float) -> float:
        """Where on the axis a value stands, from 0 to 1."""
        low, high, value = (math.log10(x) if self.is_log else x for x in (self.low, self.high, value))
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self) -> Sequence[tuple[float, str]]:
        """Values and their words."""
        if self.marks:
            return self.marks
        values = powers_of_ten(self.low, self.high) if self.is_log else round_steps(self.low, self.high)
        return [(value, f"{100 * value:.4g} %" if self.is_percent else plain_number(value)) for value in values]


@dataclass(frozen=True)
class Line:
    """``style`` is its class in the style sheet: joined by a line, unless ``is_joined`` is false."""

    name: str
    points: Sequence[Point]
    style: str
    is_joined: bool = True
    has_dots: bool = False


@dataclass(frozen=True)
class Chart:
    """What is drawn; ``band`` has (x, low, high), ``rule`` is an upright line at x with a word."""

    title: str
    description: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    band: Sequence[tuple[float, float, float]] = ()
    has_diagonal: bool = False
    rule: tuple[float, str] | None = None
    names_lines: bool = field(default=True)

    def svg(self) -> Markup:
        """The chart as markup."""
        parts = [*self._axes(), *self._band(), *self._diagonal(), *self._rule()]
        parts += [part for line in self.lines for part in self._line(line)]
        parts += self._names() if self.names_lines else []
        head = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>').format(
            WIDTH, HEIGHT, self.title, self.description
        )
        return head + Markup("").join(parts) + Markup("</svg>")

    @property
    def _right(self) -> int:
        return WIDTH - (RIGHT_OF_NAMES if self.names_lines else RIGHT)

    def place(self, point: Point) -> Point:
        """Where a point of the data is in the picture."""
        x, y = self.x.share(point[0]), self.y.share(point[1])
        return round(LEFT + x * (self._right - LEFT), 1), round(HEIGHT - BOTTOM - y * (HEIGHT - BOTTOM - TOP), 1)

    def _axes(self) -> Iterable[Markup]:
        bottom = HEIGHT - BOTTOM
        for value, words in self.y.ticks():
            y = self.place((self.x.low, value))[1]
            yield _stroke((LEFT, y), (self._right, y), "grid")
            yield _text(LEFT - 7, y + 4, words, "tick", "end")
        for value, words in self.x.ticks():
            x = self.place((value, self.y.low))[0]
            yield _stroke((x, bottom), (x, bottom + 4), "axis")
            yield _text(x, bottom + 17, words, "tick", "middle")
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

    def _rule(self) -> Iterable[Markup]:
        if self.rule is not None:
            value, words = self.rule
            x = self.place((value, self.y.low))[0]
            yield _stroke((x, TOP), (x, HEIGHT - BOTTOM), "rule")
            is_left = self.x.share(value) < 0.5
            yield _text(x + (5 if is_left else -5), TOP + 10, words, "tick", "start" if is_left else "end")

    def _line(self, line: Line) -> Iterable[Markup]:
        if line.is_joined:
            yield Markup('<polyline class="line {}" points="{}"/>').format(line.style, self._path(line.points))
        if line.has_dots:
            for point in line.points:
                yield Markup('<circle class="dot {}" cx="{}" cy="{}" r="4"/>').format(line.style, *self.place(point))

    def _names(self) -> Iterable[Markup]:
        """At the end of each line, moved apart where they would hide each other."""
        ends = [(self.place(line.points[-1]), line) for line in self.lines if line.points]
        heights = spread_apart([y for (_, y), _ in ends], LINE_HEIGHT, TOP + 4, HEIGHT - BOTTOM)
        for ((x, y), line), height in zip(ends, heights, strict=True):
            if abs(height - y) > 1:
                yield _stroke((x + 4, y), (self._right + 10, height), f"lead {line.style}")
            yield _text(self._right + 13, height + 4, line.name, f"name {line.style}", "start")

    def _path(self, points: Sequence[Point]) -> str:
        return " ".join(f"{x},{y}" for x, y in map(self.place, points))


def round_steps(low: float, high: float) -> list[float]:
    """At most six values that are easy to read, one, two or five times a power of ten apart."""
    if not high > low:
        return [low]
    power = 10.0 ** math.floor(math.log10((high - low) / MOST_TICKS))
    step = next(power * factor for factor in (1, 2, 5, 10) if (high - low) / (power * factor) < MOST_TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 12) for place in range(first, last + 1)]


def powers_of_ten(low: float, high: float) -> list[float]:
    """The powers of ten between two numbers above zero; every other where there are many."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1, 2 if last - first > MANY_DECADES else 1)]


def plain_number(value: float) -> str:
    """As people write it: 0.1, and 2×10⁻⁵."""
    factor, e, power = f"{value:g}".partition("e")
    if not e:
        return factor
    return ("" if factor == "1" else f"{factor}×") + "10" + str(int(power)).translate(SUPERSCRIPTS)


def spread_apart(places: Sequence[float], distance: float, low: float, high: float) -> list[float]:
    """The places moved as little as need be to stand ``distance`` apart between ``low`` and ``high``."""
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


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most that many of the points, evenly, the last one among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(number * (len(points) - 1) / (most - 1))] for number in range(most)]


def _stroke(start: Point, end: Point, style: str) -> Markup:
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(style, *start, *end)


def _text(x: float, y: float, words: str, style: str, anchor: str) -> Markup:
    pattern = Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>')
    return pattern.format(style, round(x, 1), round(y, 1), anchor, escape(words))
