"""Figure 2: quarters of entropy and of degree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from confgcn.reporting.figure2 import draw, tables, verdicts
from confgcn.reporting.table2 import CONTROL, REFERENCE
from confgcn.reporting.verdict import FAILS, HOLDS, IN_PART, UNKNOWN

FALLING, RISING = (0.9, 0.8, 0.7, 0.6), (0.6, 0.7, 0.8, 0.9)


def line(title: str, entropy: Sequence[float] = FALLING, degree: Sequence[float] = FALLING) -> dict[str, Any]:
    quarters = {"entropy": entropy, "degree": degree}
    return {"title": title, **{k: [{"mean": mean, "std": 0.01} for mean in means] for k, means in quarters.items()}}


def raised(quarters: Sequence[float], by: float = 0.05) -> list[float]:
    return [mean + by for mean in quarters]


def numbers(*lines: dict[str, Any]) -> dict[str, Any]:
    return {"datasets": {"cora_ml": list(lines)}}


def test_the_table_has_eight_quarters() -> None:
    (table,) = tables(numbers(line("GAT"), line(REFERENCE, RISING))).values()
    assert table.header[1:6] == ["entropy lowest", "entropy 2nd", "entropy 3rd", "entropy highest", "degree lowest"]
    assert table.rows[1][:3] == [REFERENCE, "60.0 ± 1.0", "70.0 ± 1.0"]
    assert [len(row) for row in table.rows] == [9, 9]


@pytest.mark.parametrize(
    ("entropies", "finding"),
    [([FALLING, FALLING], HOLDS), ([FALLING, RISING], IN_PART), ([RISING, RISING], FAILS), ([], UNKNOWN)],
)
def test_does_every_method_fall_with_entropy(entropies: list[Sequence[float]], finding: str) -> None:
    lines = [line(str(place), entropy) for place, entropy in enumerate(entropies)]
    assert verdicts(numbers(*lines))[0].finding == finding


@pytest.mark.parametrize(
    ("own", "finding"),
    [
        (line(REFERENCE, raised(FALLING), raised(FALLING)), HOLDS),
        (line(REFERENCE, raised(FALLING), FALLING), IN_PART),
        (line(REFERENCE, raised(FALLING, -0.1), raised(FALLING, -0.1)), FAILS),
        (line("another"), UNKNOWN),
    ],
    ids=["everywhere", "by entropy", "nowhere", "not there"],
)
def test_is_confgcn_best_in_every_quarter(own: dict[str, Any], finding: str) -> None:
    found = numbers(line("Kipf-GCN"), line("GAT", raised(FALLING, -0.2)), own)
    assert verdicts(found)[1].finding == finding


@pytest.mark.parametrize("better", ["Kipf-GCN", "GAT"])
def test_best_is_above_both_rivals(better: str) -> None:
    above = raised(FALLING, 0.1)
    rivals = [line(t, above, above) if t == better else line(t) for t in ("Kipf-GCN", "GAT")]
    own = line(REFERENCE, raised(FALLING), raised(FALLING))
    assert verdicts(numbers(*rivals, own))[1].finding == FAILS


@pytest.mark.parametrize(
    ("degrees", "finding"),
    [([FALLING, FALLING], HOLDS), ([FALLING, RISING], IN_PART), ([RISING], FAILS), ([], UNKNOWN)],
)
def test_do_many_neighbours_make_every_method_worse(degrees: list[Sequence[float]], finding: str) -> None:
    lines = [line(str(place), degree=degree) for place, degree in enumerate(degrees)]
    assert verdicts(numbers(*lines))[2].finding == finding


def test_the_text_counts_quarters_and_names_the_control() -> None:
    own = line(REFERENCE, raised(FALLING), [0.95, 0.75, 0.75, 0.5])
    found = numbers(line("Kipf-GCN"), line("GAT"), own, line(CONTROL, degree=[0.9, 0.8, 0.7, 0.52]))
    falls, best, turns = verdicts(found)
    assert "on cora_ml from 95.0 to 65.0 (Kipf-GCN 90.0 to 60.0)" in falls.text
    assert "in 4 of 4 quarters of entropy and 2 of degree" in best.text
    assert "−10.0 and −10.0 points" in best.text
    assert "+2.0" in best.text
    assert "75.0 and 50.0 on cora_ml" in turns.text


def test_a_row_of_panels_for_each_data_set() -> None:
    pytest.importorskip("matplotlib")
    figure = draw({"datasets": {"cora": [line("GAT"), line(REFERENCE)], "demo": [line("GAT")], "pubmed": []}})
    assert figure is not None
    assert [axis.get_title() for axis in figure.axes][::2] == [
        "cora, by neighbourhood label entropy",
        "demo, by neighbourhood label entropy",
    ]
    assert [len(axis.containers) for axis in figure.axes] == [2, 2, 1, 1]


def test_nothing_to_show() -> None:
    assert draw({"datasets": {"cora": []}}) is None
    assert tables({"datasets": {"cora": []}}) == {}
