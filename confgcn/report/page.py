"""The report as one HTML file: it loads nothing, runs only its own script and shows every name as text."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from confgcn.report import run_charts, sections
from confgcn.report.formatting import Numbers
from confgcn.report.node_tables import node_tables
from confgcn.report.page_data import MAX_BYTES, pack, visible
from confgcn.report.search_text import search_section


def render(numbers: Numbers, *, max_bytes: int = MAX_BYTES) -> tuple[bytes, list[str]]:
    """The page, from the numbers of ``confgcn.runs.report.collect``, and notices of what was left out for its size."""
    data = pack(numbers, max_bytes)
    script = _read("report.js")
    page = _environment().from_string(_read("report.html"))
    text = page.render(
        style=_unescaped(_read("report.css")),
        script=_unescaped(script),
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src '{hash_of(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        block=_unescaped(data.text),
        positions=data.positions,
        left_out=data.left_out,
        explorer=sections.explorer(numbers, data.omitted),
        **contents(numbers),
    )
    return text.encode("utf-8", "backslashreplace"), data.left_out


def contents(numbers: Numbers) -> dict[str, Any]:
    """The variables of the template."""
    quality, training = numbers["quality"], numbers["training"]
    curves = None if quality is None else quality["curves"]
    charts = [] if curves is None else [run_charts.reliability(curves), run_charts.risk_coverage(curves)]
    trained = run_charts.losses(training["history"]), run_charts.validation(training["history"], training["selected"])
    return {
        "about": numbers["about"],
        "headline": sections.headline(numbers),
        "warnings": sections.warnings(numbers),
        "data": {"sentence": sections.data(numbers), "facts": sections.facts(numbers), **numbers["data"]},
        "classes": sections.classes(numbers),
        "quality": {
            "sentence": sections.quality(numbers),
            "scores": [] if quality is None else sections.scores(numbers),
            "charts": [*charts, *([] if curves is None else run_charts.groups(curves))],
            "confusion": None if quality is None else sections.confusion(numbers),
        },
        "search": search_section(numbers["search"]),
        "training": [figure for figure in trained if figure is not None],
        "tables": node_tables(numbers),
    }


def hash_of(script: str) -> str:
    """The hash by which the content security policy allows a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _environment() -> Environment:
    return Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_shown, trim_blocks=True, lstrip_blocks=True
    )


def _unescaped(text: str) -> Markup:
    """Markup of the template's own files, and of JSON without characters that HTML interprets."""
    return Markup(text)  # noqa: S704


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _read(name: str) -> str:
    return files("confgcn.report").joinpath("template", name).read_text(encoding="utf-8")
