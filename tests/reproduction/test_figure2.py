"""Figure 2: accuracies in quartile groups, and the claims of Q2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reproduction.figure2 import (
    BASELINES,
    PRINTED_GAIN,
    QUANTITIES,
    VARIANTS,
    check_claims,
    draw,
    jobs,
    numbers,
    tables,
)
from reproduction.jobs import Scope
from reproduction.rendering import FAILS, HOLDS, PARTLY, UNKNOWN
from reproduction.results import Results
from reproduction.table2 import GCN, RELEASED, UNIFORM
from reproduction.table2 import jobs as jobs_of_table2


def test_the_jobs_are_runs_of_table_2() -> None:
    assert set(jobs(Scope(seeds=1))) <= set(jobs_of_table2(Scope(seeds=1)))


def test_a_line_has_four_means_by_either_quantity(results: Results, keep: Callable[..., None]) -> None:
    entropy, degree = (0.9, 0.8, 0.7, 0.6), (0.1, 0.2, 0.3, 0.4)
    keep("demo", GCN, 0.5, 0.5, None, accuracy_by_entropy=entropy, accuracy_by_degree=degree)
    found = numbers(Scope(datasets=("demo", "cora")), results)["datasets"]
    assert found["cora"] == []
    (line,) = found["demo"]
    assert line["title"] == GCN.title
    assert [cell["mean"] for cell in line["entropy"]] == pytest.approx(entropy)
    assert [cell["mean"] for cell in line["degree"]] == pytest.approx(degree)
    assert [cell["std"] for cell in line["degree"]] == pytest.approx([0.0] * 4)


def test_differences_from_confgcn_are_paired_by_seed_in_every_group(
    results: Results, keep: Callable[..., None]
) -> None:
    own = {"accuracy_by_entropy": (0.9, 0.8, 0.7, 0.6), "accuracy_by_degree": (0.9, 0.9, 0.9, 0.8)}
    theirs = {"accuracy_by_entropy": (0.9, 0.7, 0.8, 0.3), "accuracy_by_degree": (0.8, 0.8, 0.8, 0.9)}
    keep("demo", RELEASED, *[0.5] * 6, **own)
    keep("demo", GCN, 0.5, None, *[0.5] * 4, **theirs)
    lines = {line["title"]: line for line in numbers(Scope(datasets=("demo",)), results)["datasets"]["demo"]}
    more = lines[GCN.title]["confgcn_minus_this"]
    assert [cell["mean"] for cell in more["entropy"]] == pytest.approx([0.0, 0.1, -0.1, 0.3])
    assert [cell["low"] for cell in more["degree"]] == pytest.approx([0.1, 0.1, 0.1, -0.1])
    assert {cell["pairs"] for cells in more.values() for cell in cells} == {5}
    assert [cell["mean"] for cell in lines[RELEASED.title]["confgcn_minus_this"]["entropy"]] == [0.0] * 4


def test_without_confgcn_there_is_nothing_to_compare(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", GCN, 0.5, accuracy_by_entropy=(1.0,) * 4, accuracy_by_degree=(1.0,) * 4)
    (line,) = numbers(Scope(datasets=("demo",)), results)["datasets"]["demo"]
    assert line["confgcn_minus_this"] == {"entropy": [None] * 4, "degree": [None] * 4}


def test_lines_come_in_the_order_of_the_legend(results: Results, keep: Callable[..., None]) -> None:
    groups = {"accuracy_by_entropy": (1.0,) * 4, "accuracy_by_degree": (1.0,) * 4}
    keep("demo", RELEASED, 0.5, **groups)
    keep("demo", GCN, 0.5, **groups)
    lines = numbers(Scope(datasets=("demo",)), results)["datasets"]["demo"]
    titles = [variant.title for variant in VARIANTS]
    assert [line["title"] for line in lines] == sorted([GCN.title, RELEASED.title], key=titles.index)


def test_a_line_with_only_diverged_runs_is_left_out(results: Results, keep: Callable[..., None]) -> None:
    keep("demo", GCN, None, None)
    assert numbers(Scope(datasets=("demo",)), results) == {"datasets": {"demo": []}}


MIXED, MANY, BEST, GAINS = range(4)
FALLING, RISING = (0.9, 0.8, 0.7, 0.6), (0.6, 0.7, 0.8, 0.9)
CLEAR, UNCLEAR, BELOW = (0.02, 0.03, 0.04), (-0.01, 0.03, 0.07), (-0.04, -0.03, -0.02)
FEW = (None, 0.03, None)  # of too few seeds to say how steady it is
Difference = tuple[float | None, float, float | None]
Groups = dict[str, Sequence[Difference | None]]


def differences(*found: Difference | None) -> list[dict[str, Any] | None]:
    """What ConfGCN has more in each group."""
    return [None if d is None else dict(zip(("low", "mean", "high"), d, strict=True)) for d in found]


def line(
    title: str,
    entropy: Sequence[float] = FALLING,
    degree: Sequence[float] = FALLING,
    less: Groups | None = None,
) -> dict[str, Any]:
    groups = {"entropy": entropy, "degree": degree}
    more = {key: differences(*found) for key, found in (less or everywhere(None)).items()}
    cells = {key: [{"mean": mean, "std": 0.01} for mean in means] for key, means in groups.items()}
    return {"title": title, **cells, "confgcn_minus_this": more}


def numbers_of(*lines: dict[str, Any]) -> dict[str, Any]:
    return {"datasets": {"cora_ml": list(lines)}}


def against(gcn: Groups, gat: Groups) -> dict[str, Any]:
    """ConfGCN beside its two rivals, with what it has more than each."""
    return numbers_of(line("Kipf-GCN", less=gcn), line("GAT", less=gat), line(RELEASED.title))


def everywhere(difference: Difference | None) -> Groups:
    return {key: [difference] * 4 for key in QUANTITIES}


def test_the_table_has_eight_groups() -> None:
    (table,) = tables(numbers_of(line("GAT"), line(RELEASED.title, RISING))).values()
    assert table.header[1:6] == ["entropy lowest", "entropy 2nd", "entropy 3rd", "entropy highest", "degree lowest"]
    assert table.rows[1][:3] == [RELEASED.title, "60.0 ± 1.0", "70.0 ± 1.0"]
    assert [len(row) for row in table.rows] == [9, 9]


@pytest.mark.parametrize(
    ("entropies", "outcome"),
    [
        ([FALLING, (0.9, 0.2, 0.2, 0.8)], HOLDS),
        ([FALLING, RISING], PARTLY),
        ([RISING, (0.8,) * 4], FAILS),
        ([], UNKNOWN),
    ],
    ids=["all", "one does not", "none", "no run"],
)
def test_the_claim_on_mixed_neighbourhoods_compares_the_outer_groups(
    entropies: list[Sequence[float]], outcome: str
) -> None:
    lines = [line(str(place), entropy) for place, entropy in enumerate(entropies)]
    assert check_claims(numbers_of(*lines))[MIXED].outcome == outcome


@pytest.mark.parametrize(
    ("degrees", "outcome"),
    [
        ([FALLING, (0.1, 0.2, 0.9, 0.8)], HOLDS),
        ([FALLING, RISING], PARTLY),
        ([RISING, (0.9, 0.8, 0.6, 0.7)], FAILS),
        ([], UNKNOWN),
    ],
    ids=["all", "one does not", "none", "no run"],
)
def test_the_claim_on_many_neighbours_compares_the_last_two_groups(
    degrees: list[Sequence[float]], outcome: str
) -> None:
    lines = [line(str(place), degree=degree) for place, degree in enumerate(degrees)]
    assert check_claims(numbers_of(*lines))[MANY].outcome == outcome


def test_the_evidence_names_the_accuracies_of_the_compared_groups() -> None:
    found = check_claims(numbers_of(line("GAT"), line(RELEASED.title, (0.95, 0.9, 0.8, 0.65), (0.9, 0.9, 0.75, 0.5))))
    assert "95.0 and 65.0 on cora_ml" in found[MIXED].evidence
    assert "the lowest and the highest group of neighbourhood label entropy" in found[MIXED].evidence
    assert "75.0 and 50.0 on cora_ml" in found[MANY].evidence
    assert "the 3rd and the highest group of degree" in found[MANY].evidence
    assert check_claims(numbers_of(line("GAT")))[MIXED].evidence == ""


@pytest.mark.parametrize(
    ("gcn", "gat", "outcome"),
    [
        (everywhere(CLEAR), everywhere(CLEAR), HOLDS),
        (everywhere(CLEAR), everywhere(BELOW), PARTLY),
        (everywhere(CLEAR) | {"degree": [CLEAR, CLEAR, CLEAR, UNCLEAR]}, everywhere(CLEAR), PARTLY),
        (everywhere(UNCLEAR), everywhere(BELOW), FAILS),
        ({key: [BELOW, CLEAR, CLEAR, CLEAR] for key in QUANTITIES}, everywhere(UNCLEAR), FAILS),
        (everywhere(FEW), everywhere(FEW), UNKNOWN),
        (everywhere(FEW), everywhere(CLEAR), HOLDS),
    ],
    ids=[
        "everywhere",
        "over one rival",
        "but for one group",
        "nowhere",
        "a group is missing each time",
        "few seeds",
        "one rival of few seeds",
    ],
)
def test_the_claim_to_be_best_needs_every_group(gcn: Groups, gat: Groups, outcome: str) -> None:
    assert check_claims(against(gcn, gat))[BEST].outcome == outcome


@pytest.mark.parametrize("absent", [*BASELINES, RELEASED.title])
def test_without_confgcn_or_a_baseline_the_claims_are_undetermined(absent: str) -> None:
    lines = [line(title, less=everywhere(CLEAR)) for title in (*BASELINES, RELEASED.title) if title != absent]
    for claim in (BEST, GAINS):
        check = check_claims(numbers_of(*lines))[claim]
        assert (check.outcome, check.evidence) == (UNKNOWN, "")


def test_groups_above_and_below_are_counted_for_each_baseline() -> None:
    gcn = {"entropy": [CLEAR, CLEAR, UNCLEAR, BELOW], "degree": [CLEAR, CLEAR, CLEAR, CLEAR]}
    gat = {"entropy": [BELOW, BELOW, BELOW, UNCLEAR], "degree": [UNCLEAR, UNCLEAR, None, FEW]}
    text = check_claims(against(gcn, gat))[BEST].evidence
    assert "Kipf-GCN by entropy on cora_ml: 2 / 1" in text
    assert "Kipf-GCN by degree on cora_ml: 4 / 0" in text
    assert "GAT by entropy on cora_ml: 0 / 3" in text
    assert "GAT by degree on cora_ml: 0 / 0" in text


def top(difference: Difference | None) -> Groups:
    """Something in the highest group of degree, nothing to speak of in the others."""
    return {"entropy": [UNCLEAR] * 4, "degree": [BELOW, BELOW, BELOW, difference]}


ENOUGH = (0.001, PRINTED_GAIN / 2, 0.05)
TOO_LITTLE = (0.001, PRINTED_GAIN / 2 - 0.001, 0.05)


@pytest.mark.parametrize(
    ("gcn", "gat", "outcome"),
    [
        (CLEAR, ENOUGH, HOLDS),
        (CLEAR, TOO_LITTLE, FAILS),
        (UNCLEAR, CLEAR, FAILS),
        (CLEAR, None, UNKNOWN),
        (CLEAR, FEW, UNKNOWN),
    ],
    ids=["half of what is printed", "less than half", "not clear", "not there", "few seeds"],
)
def test_the_claimed_gain_needs_half_of_the_printed_one(
    gcn: Difference | None, gat: Difference | None, outcome: str
) -> None:
    assert check_claims(against(top(gcn), top(gat)))[GAINS].outcome == outcome


def test_a_gain_on_one_of_two_data_sets_holds_in_part() -> None:
    yes, no = against(top(CLEAR), top(CLEAR)), against(top(CLEAR), top(UNCLEAR))
    both = {"datasets": {"cora_ml": yes["datasets"]["cora_ml"], "cora": no["datasets"]["cora_ml"]}}
    assert check_claims(both)[GAINS].outcome == PARTLY


def test_the_evidence_names_the_gain_over_baselines_and_control() -> None:
    found = against(top(CLEAR), top(BELOW))
    text = check_claims(found)[GAINS].evidence
    assert "+3.0 [+2.0, +4.0] over Kipf-GCN on cora_ml and −3.0 [−4.0, −2.0] over GAT on cora_ml" in text
    assert "uniform influences" not in text
    found["datasets"]["cora_ml"].append(line(UNIFORM.title, less=top(UNCLEAR)))
    assert "uniform influences: +3.0 [−1.0, +7.0] on cora_ml." in check_claims(found)[GAINS].evidence


def test_a_row_of_panels_for_each_data_set() -> None:
    pytest.importorskip("matplotlib")
    figure = draw({"datasets": {"cora": [line("GAT"), line(RELEASED.title)], "demo": [line("GAT")], "pubmed": []}})
    assert figure is not None
    assert [axis.get_title() for axis in figure.axes][::2] == [
        "cora, by neighbourhood label entropy",
        "demo, by neighbourhood label entropy",
    ]
    assert [len(axis.containers) for axis in figure.axes] == [2, 2, 1, 1]


def test_without_runs_there_is_no_picture_and_no_table() -> None:
    nothing: dict[str, Any] = {"datasets": {"cora": []}}
    assert draw(nothing) is None
    assert tables(nothing) == {}
    assert [(check.outcome, check.evidence) for check in check_claims(nothing)] == [(UNKNOWN, "")] * 4
