"""A table as Markdown and as LaTeX, sign by sign."""

from __future__ import annotations

import pytest

from reproduction.tables import Table


@pytest.fixture
def table() -> Table:
    return Table("Accuracy of `cora_ml`, %", ["", "cora_ml", "R&D"], [["GCN", "81.0 ± 0.4 †", "−1.0"]])


def test_markdown_has_a_rule_and_numbers_on_the_right(table: Table) -> None:
    assert table.markdown() == (
        "|  | cora_ml | R&D |\n"
        "| --- | ---: | ---: |\n"
        "| GCN | 81.0 ± 0.4 † | −1.0 |\n"
    )  # fmt: skip


def test_latex_is_a_whole_booktabs_table(table: Table) -> None:
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
def test_what_latex_would_misread_is_escaped(text: str, latex: str) -> None:
    assert f"{latex} & x \\\\" in Table("", ["", ""], [[text, "x"]]).latex()
    assert f"| {text} | x |" in Table("", ["", ""], [[text, "x"]]).markdown()
