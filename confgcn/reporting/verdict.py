"""A claim of the paper, and what the numbers say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HOLDS, IN_PART, FAILS, UNKNOWN = "holds", "holds in part", "does not hold", "not measured here"


@dataclass(frozen=True)
class Verdict:
    """``claim`` in our words, ``finding`` one of the four, ``text`` the numbers it rests on."""

    claim: str
    finding: str
    text: str

    def markdown(self) -> str:
        """One paragraph."""
        return f"**{self.claim}** *{self.finding[0].upper()}{self.finding[1:]}.* {self.text}".strip() + "\n"


def judged(cases: Sequence[bool]) -> str:
    """What becomes of a claim that is true in some cases and not in others."""
    if not cases:
        return UNKNOWN
    return HOLDS if all(cases) else IN_PART if any(cases) else FAILS
