"""Tables as Markdown and LaTeX, and the outcome of checking a claim of the paper."""

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
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "✓": r"$\checkmark$",
    "✗": r"$\times$",
}
HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "holds in part", "does not hold", "cannot be determined from these runs"


@dataclass(frozen=True)
class Table:
    """The first column holds titles; every cell is Markdown text."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table without its caption."""
        rule = ["---"] + ["---:"] * (len(self.header) - 1)
        lines = [self.header, rule, *self.rows]
        return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)

    def latex(self) -> str:
        """A table for the booktabs package."""
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


@dataclass(frozen=True)
class ClaimCheck:
    """A claim of the paper, one of the four outcomes, and the numbers behind it."""

    claim: str
    outcome: str
    evidence: str

    def markdown(self) -> str:
        """One paragraph."""
        return f"**{self.claim}** *{self.outcome[0].upper()}{self.outcome[1:]}.* {self.evidence}".strip() + "\n"


def outcome_of(cases: Sequence[bool | None]) -> str:
    """The outcome of a claim that is true in some cases and false in others; None is an undetermined case."""
    known = [case for case in cases if case is not None]
    if not known:
        return UNKNOWN
    return HOLDS if all(known) else PARTLY if any(known) else FAILS


def _latex(text: str) -> str:
    escaped = "".join(LATEX.get(character, character) for character in text)
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", escaped)
