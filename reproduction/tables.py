"""A table as Markdown and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

LATEX = {character: "\\" + character for character in "&%_#${}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "−": "$-$",
    "–": "--",
    "|": "$|$",
}


@dataclass(frozen=True)
class Table:
    """The first column holds titles; every cell is text as Markdown has it."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """Without the caption, which stands in the text around it."""
        rule = ["---"] + ["---:"] * (len(self.header) - 1)
        lines = [self.header, rule, *self.rows]
        return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)

    def latex(self) -> str:
        """For the booktabs package."""
        columns = "l" + "r" * (len(self.header) - 1)
        head, *body = [" & ".join(map(_latex, line)) + r" \\" for line in (self.header, *self.rows)]
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_latex(self.caption)}}}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def _latex(text: str) -> str:
    escaped = "".join(LATEX.get(character, character) for character in text)
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", escaped)
