"""The figures of an evaluation and their style."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from confgcn.exceptions import ResourceError
from confgcn.report.figures import STYLE, evaluation_figures, figure_style

matplotlib = pytest.importorskip("matplotlib")


def test_the_settings_of_the_caller_are_left_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 17)
    before = dict(matplotlib.rcParams)
    with figure_style():
        assert {key: matplotlib.rcParams[key] for key in STYLE} == STYLE
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ResourceError, match=r"pip install 'confgcn\[figures\]'"):
        figure_style()


def test_three_figures_have_the_same_bytes_every_time(page_numbers: Callable[..., Any]) -> None:
    curves = page_numbers(["a", "b"], ["x", "y"], [(0, 1)])["quality"]["curves"]
    first = evaluation_figures(curves)
    assert set(first) == {"reliability", "risk_coverage", "groups"}
    assert all(content.startswith(b"<?xml") and b"</svg>" in content for content in first.values())
    assert evaluation_figures(curves) == first
