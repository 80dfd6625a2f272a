"""What becomes of a claim."""

from __future__ import annotations

import pytest

from reproduction.verdict import FAILS, HOLDS, IN_PART, UNKNOWN, Verdict, judged


@pytest.mark.parametrize(
    ("cases", "finding"),
    [([True, True], HOLDS), ([True, False], IN_PART), ([False, False], FAILS), ([], UNKNOWN)],
)
def test_a_claim_is_judged_by_its_cases(cases: list[bool], finding: str) -> None:
    assert judged(cases) == finding


def test_a_verdict_is_one_paragraph() -> None:
    assert Verdict("It is so.", IN_PART, "One of 2.").markdown() == "**It is so.** *Holds in part.* One of 2.\n"
    assert Verdict("It is so.", UNKNOWN, "").markdown() == "**It is so.** *Cannot be told from these runs.*\n"


def test_cases_that_cannot_be_told_are_left_out() -> None:
    assert judged([True, None]) == HOLDS
    assert judged([None, False, True]) == IN_PART
    assert judged([None, None]) == UNKNOWN
