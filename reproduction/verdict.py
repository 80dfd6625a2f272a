"""A claim of the paper, and what the numbers say of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HOLDS, IN_PART, FAILS, UNKNOWN = "holds", "holds in part", "does not hold", "cannot be told from these runs"


@dataclass(frozen=True)
class Verdict:
    """``claim`` in our words, ``finding`` one of the four, ``text`` the numbers it rests on."""

    claim: str
    finding: str
    text: str

    def markdown(self) -> str:
        """One paragraph."""
        return f"**{self.claim}** *{self.finding[0].upper()}{self.finding[1:]}.* {self.text}".strip() + "\n"


def judged(cases: Sequence[bool | None]) -> str:
    """What becomes of a claim that is true in some cases and not in others; None is a case that cannot be told."""
    told = [case for case in cases if case is not None]
    if not told:
        return UNKNOWN
    return HOLDS if all(told) else IN_PART if any(told) else FAILS
