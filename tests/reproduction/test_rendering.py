"""Tables as Markdown and LaTeX, and the outcome of a claim."""

from __future__ import annotations

import pytest

from reproduction.rendering import FAILS, HOLDS, PARTLY, UNKNOWN, ClaimCheck, Table, outcome_of


@pytest.fixture
def table() -> Table:
    return Table("Accuracy of `cora_ml`, %", ["", "cora_ml", "R&D"], [["GCN", "81.0 ± 0.4 †", "−1.0"]])


def test_markdown_has_a_rule_and_numbers_on_the_right(table: Table) -> None:
    assert table.markdown() == (
        "|  | cora_ml | R&D |\n"
        "| --- | ---: | ---: |\n"
        "| GCN | 81.0 ± 0.4 † | −1.0 |\n"
    )  # fmt: skip


def test_latex_is_a_complete_booktabs_table(table: Table) -> None:
    assert table.latex() == (
        "\\begin{table}\n"
        "\\centering\n"
        "\\begin{tabular}{lrr}\n"
        "\\toprule\n"
        " & cora\\_ml & R\\&D \\\\\n"
        "\\midrule\n"
        "GCN & 81.0 $\\pm$ 0.4 $\\dagger$ & $-$1.0 \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
        "\\caption{Accuracy of \\texttt{cora\\_ml}, \\%}\n"
        "\\end{table}\n"
    )


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a & b", r"a \& b"),
        ("5 %", r"5 \%"),
        ("Neural_Networks", r"Neural\_Networks"),
        ("# 1", r"\# 1"),
        ("81.0 ± 0.4", r"81.0 $\pm$ 0.4"),
        ("80.1 †", r"80.1 $\dagger$"),
        ("−0.3", "$-$0.3"),
        ("ConfGCN `paper`, `a_b`", r"ConfGCN \texttt{paper}, \texttt{a\_b}"),
    ],
)
def test_special_characters_of_latex_are_escaped(text: str, latex: str) -> None:
    assert f"{latex} & x \\\\" in Table("", ["", ""], [[text, "x"]]).latex()
    assert f"| {text} | x |" in Table("", ["", ""], [[text, "x"]]).markdown()


@pytest.mark.parametrize(
    ("cases", "outcome"),
    [([True, True], HOLDS), ([True, False], PARTLY), ([False, False], FAILS), ([], UNKNOWN)],
)
def test_the_outcome_of_a_claim_follows_from_its_cases(cases: list[bool], outcome: str) -> None:
    assert outcome_of(cases) == outcome


def test_a_claim_check_is_one_paragraph() -> None:
    assert ClaimCheck("It is so.", PARTLY, "One of 2.").markdown() == "**It is so.** *Holds in part.* One of 2.\n"
    assert ClaimCheck("It is so.", UNKNOWN, "").markdown() == "**It is so.** *Cannot be determined from these runs.*\n"


def test_undetermined_cases_are_ignored() -> None:
    assert outcome_of([True, None]) == HOLDS
    assert outcome_of([None, False, True]) == PARTLY
    assert outcome_of([None, None]) == UNKNOWN
