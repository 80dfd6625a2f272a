"""Figure 2: quarters of entropy and of degree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from reproduction.drawing.figure2 import PRINTED_GAIN, QUANTITIES, RIVALS, draw, tables, verdicts
from reproduction.drawing.table2 import CONTROL, REFERENCE
from reproduction.verdict import FAILS, HOLDS, IN_PART, UNKNOWN

MIXED, MANY, BEST, GAINS = range(4)
FALLING, RISING = (0.9, 0.8, 0.7, 0.6), (0.6, 0.7, 0.8, 0.9)
CLEAR, UNCLEAR, BELOW = (0.02, 0.03, 0.04), (-0.01, 0.03, 0.07), (-0.04, -0.03, -0.02)
FEW = (None, 0.03, None)  # of too few seeds to say how steady it is
Difference = tuple[float | None, float, float | None]
Quarters = dict[str, Sequence[Difference | None]]


def differences(*found: Difference | None) -> list[dict[str, Any] | None]:
    """What ConfGCN has more in each quarter."""
    return [None if d is None else dict(zip(("low", "mean", "high"), d, strict=True)) for d in found]


def line(
    title: str,
    entropy: Sequence[float] = FALLING,
    degree: Sequence[float] = FALLING,
    less: Quarters | None = None,
) -> dict[str, Any]:
    quarters = {"entropy": entropy, "degree": degree}
    more = {key: differences(*found) for key, found in (less or everywhere(None)).items()}
    cells = {key: [{"mean": mean, "std": 0.01} for mean in means] for key, means in quarters.items()}
    return {"title": title, **cells, "confgcn_less_this": more}


def numbers(*lines: dict[str, Any]) -> dict[str, Any]:
    return {"datasets": {"cora_ml": list(lines)}}


def against(gcn: Quarters, gat: Quarters) -> dict[str, Any]:
    """ConfGCN beside its two rivals, with what it has more than each."""
    return numbers(line("Kipf-GCN", less=gcn), line("GAT", less=gat), line(REFERENCE))


def everywhere(difference: Difference | None) -> Quarters:
    return {key: [difference] * 4 for key in QUANTITIES}


def test_the_table_has_eight_quarters() -> None:
    (table,) = tables(numbers(line("GAT"), line(REFERENCE, RISING))).values()
    assert table.header[1:6] == ["entropy lowest", "entropy 2nd", "entropy 3rd", "entropy highest", "degree lowest"]
    assert table.rows[1][:3] == [REFERENCE, "60.0 ± 1.0", "70.0 ± 1.0"]
    assert [len(row) for row in table.rows] == [9, 9]


@pytest.mark.parametrize(
    ("entropies", "finding"),
    [
        ([FALLING, (0.9, 0.2, 0.2, 0.8)], HOLDS),
        ([FALLING, RISING], IN_PART),
        ([RISING, (0.8,) * 4], FAILS),
        ([], UNKNOWN),
    ],
    ids=["all", "one does not", "none", "no run"],
)
def test_does_every_method_fall_with_entropy(entropies: list[Sequence[float]], finding: str) -> None:
    lines = [line(str(place), entropy) for place, entropy in enumerate(entropies)]
    assert verdicts(numbers(*lines))[MIXED].finding == finding


@pytest.mark.parametrize(
    ("degrees", "finding"),
    [
        ([FALLING, (0.1, 0.2, 0.9, 0.8)], HOLDS),
        ([FALLING, RISING], IN_PART),
        ([RISING, (0.9, 0.8, 0.6, 0.7)], FAILS),
        ([], UNKNOWN),
    ],
    ids=["all", "one does not", "none", "no run"],
)
def test_do_many_neighbours_make_every_method_worse(degrees: list[Sequence[float]], finding: str) -> None:
    lines = [line(str(place), degree=degree) for place, degree in enumerate(degrees)]
    assert verdicts(numbers(*lines))[MANY].finding == finding


def test_the_ends_of_confgcn_are_told() -> None:
    found = verdicts(numbers(line("GAT"), line(REFERENCE, (0.95, 0.9, 0.8, 0.65), (0.9, 0.9, 0.75, 0.5))))
    assert "95.0 and 65.0 on cora_ml" in found[MIXED].text
    assert "the lowest and the highest quarter of neighbourhood label entropy" in found[MIXED].text
    assert "75.0 and 50.0 on cora_ml" in found[MANY].text
    assert "the 3rd and the highest quarter of degree" in found[MANY].text
    assert verdicts(numbers(line("GAT")))[MIXED].text == ""


@pytest.mark.parametrize(
    ("gcn", "gat", "finding"),
    [
        (everywhere(CLEAR), everywhere(CLEAR), HOLDS),
        (everywhere(CLEAR), everywhere(BELOW), IN_PART),
        (everywhere(CLEAR) | {"degree": [CLEAR, CLEAR, CLEAR, UNCLEAR]}, everywhere(CLEAR), IN_PART),
        (everywhere(UNCLEAR), everywhere(BELOW), FAILS),
        ({key: [BELOW, CLEAR, CLEAR, CLEAR] for key in QUANTITIES}, everywhere(UNCLEAR), FAILS),
        (everywhere(FEW), everywhere(FEW), UNKNOWN),
        (everywhere(FEW), everywhere(CLEAR), HOLDS),
    ],
    ids=[
        "everywhere",
        "over one rival",
        "but for one quarter",
        "nowhere",
        "a quarter is missing each time",
        "few seeds",
        "one rival of few seeds",
    ],
)
def test_is_confgcn_best_in_every_quarter(gcn: Quarters, gat: Quarters, finding: str) -> None:
    assert verdicts(against(gcn, gat))[BEST].finding == finding


@pytest.mark.parametrize("absent", [*RIVALS, REFERENCE])
def test_without_confgcn_or_a_rival_it_is_not_compared(absent: str) -> None:
    lines = [line(title, less=everywhere(CLEAR)) for title in (*RIVALS, REFERENCE) if title != absent]
    for claim in (BEST, GAINS):
        verdict = verdicts(numbers(*lines))[claim]
        assert (verdict.finding, verdict.text) == (UNKNOWN, "")


def test_quarters_above_and_below_are_counted_for_each_rival() -> None:
    gcn = {"entropy": [CLEAR, CLEAR, UNCLEAR, BELOW], "degree": [CLEAR, CLEAR, CLEAR, CLEAR]}
    gat = {"entropy": [BELOW, BELOW, BELOW, UNCLEAR], "degree": [UNCLEAR, UNCLEAR, None, FEW]}
    text = verdicts(against(gcn, gat))[BEST].text
    assert "against Kipf-GCN by entropy 2 and 1 on cora_ml" in text
    assert "against Kipf-GCN by degree 4 and 0 on cora_ml" in text
    assert "against GAT by entropy 0 and 3 on cora_ml" in text
    assert "against GAT by degree 0 and 0 on cora_ml" in text


def top(difference: Difference | None) -> Quarters:
    """Something in the highest quarter of degree, nothing to speak of in the others."""
    return {"entropy": [UNCLEAR] * 4, "degree": [BELOW, BELOW, BELOW, difference]}


ENOUGH = (0.001, PRINTED_GAIN / 2, 0.05)
TOO_LITTLE = (0.001, PRINTED_GAIN / 2 - 0.001, 0.05)


@pytest.mark.parametrize(
    ("gcn", "gat", "finding"),
    [
        (CLEAR, ENOUGH, HOLDS),
        (CLEAR, TOO_LITTLE, FAILS),
        (UNCLEAR, CLEAR, FAILS),
        (CLEAR, None, UNKNOWN),
        (CLEAR, FEW, UNKNOWN),
    ],
    ids=["half of what is printed", "less than half", "not clear", "not there", "few seeds"],
)
def test_does_it_gain_points_among_nodes_of_the_highest_degree(
    gcn: Difference | None, gat: Difference | None, finding: str
) -> None:
    assert verdicts(against(top(gcn), top(gat)))[GAINS].finding == finding


def test_a_gain_on_one_data_set_of_two_is_one_in_part() -> None:
    yes, no = against(top(CLEAR), top(CLEAR)), against(top(CLEAR), top(UNCLEAR))
    both = {"datasets": {"cora_ml": yes["datasets"]["cora_ml"], "cora": no["datasets"]["cora_ml"]}}
    assert verdicts(both)[GAINS].finding == IN_PART


def test_the_gain_is_told_over_every_rival_and_over_the_control() -> None:
    found = against(top(CLEAR), top(BELOW))
    text = verdicts(found)[GAINS].text
    assert "+3.0 [+2.0, +4.0] over Kipf-GCN on cora_ml and −3.0 [−4.0, −2.0] over GAT on cora_ml" in text
    assert "uniform influences" not in text
    found["datasets"]["cora_ml"].append(line(CONTROL, less=top(UNCLEAR)))
    assert "uniform influences: +3.0 [−1.0, +7.0] on cora_ml." in verdicts(found)[GAINS].text


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
    nothing: dict[str, Any] = {"datasets": {"cora": []}}
    assert draw(nothing) is None
    assert tables(nothing) == {}
    assert [(verdict.finding, verdict.text) for verdict in verdicts(nothing)] == [(UNKNOWN, "")] * 4
