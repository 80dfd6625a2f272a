"""What the pictures share."""

from __future__ import annotations

import sys

import pytest

from confgcn.exceptions import ResourceError
from confgcn.report.figure_style import STYLE, house_style, new_figure

matplotlib = pytest.importorskip("matplotlib")


def test_the_settings_of_the_caller_are_left_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 17)
    before = dict(matplotlib.rcParams)
    with house_style():
        assert {key: matplotlib.rcParams[key] for key in STYLE} == STYLE
        new_figure(rows=1, columns=1)
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ResourceError, match=r"pip install 'confgcn\[figures\]'"):
        house_style()


def test_a_grid_has_its_rows_and_columns() -> None:
    figure, axes = new_figure(rows=2, columns=3)
    assert [len(row) for row in axes] == [3, 3]
    assert len(figure.axes) == 6
    assert len(new_figure(rows=1, columns=1)[1][0]) == 1
