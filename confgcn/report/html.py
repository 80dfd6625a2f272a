"""One HTML file about one run: no network, no code but our own, every name in it shown as text."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from confgcn.report import run_charts, sections
from confgcn.report.formatting import Numbers
from confgcn.report.island import MOST_BYTES, pack, visible
from confgcn.report.node_tables import node_tables


def render(numbers: Numbers, *, most_bytes: int = MOST_BYTES) -> tuple[bytes, list[str]]:
    """The page, from the numbers of ``confgcn.runs.report.collect``; and what was left out to keep it small."""
    island = pack(numbers, most_bytes)
    script = _read("report.js")
    page = _environment().from_string(_read("report.html"))
    text = page.render(
        style=_trusted(_read("report.css")),
        script=_trusted(script),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src '{hash_of(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        block=_trusted(island.text),
        places=island.places,
        left_out=island.left_out,
        explorer=sections.explorer(numbers, island.without),
        **contents(numbers),
    )
    return text.encode("utf-8", "backslashreplace"), island.left_out


def contents(numbers: Numbers) -> dict[str, Any]:
    """What the template shows."""
    quality, training = numbers["quality"], numbers["training"]
    curves = None if quality is None else quality["curves"]
    charts = [] if curves is None else [run_charts.reliability(curves), run_charts.risk_coverage(curves)]
    trained = run_charts.losses(training["history"]), run_charts.validation(training["history"], training["selected"])
    return {
        "about": numbers["about"],
        "headline": sections.headline(numbers),
        "data": {"sentence": sections.data(numbers), "facts": sections.facts(numbers), **numbers["data"]},
        "classes": sections.classes(numbers),
        "quality": {
            "sentence": sections.quality(numbers),
            "scores": [] if quality is None else sections.scores(numbers),
            "charts": [*charts, *([] if curves is None else run_charts.groups(curves))],
            "confusion": None if quality is None else sections.confusion(numbers),
        },
        "training": [figure for figure in trained if figure is not None],
        "tables": node_tables(numbers),
    }


def hash_of(script: str) -> str:
    """By which a browser knows a script that it may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _environment() -> Environment:
    return Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_shown, trim_blocks=True, lstrip_blocks=True
    )


def _trusted(text: str) -> Markup:
    """Our own files, and JSON in which nothing is left that HTML could read."""
    return Markup(text)  # noqa: S704


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _read(name: str) -> str:
    return files("confgcn.report").joinpath("template", name).read_text(encoding="utf-8")
