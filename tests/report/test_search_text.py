"""What a search chose, in sentences and in the report."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.report.page import render
from confgcn.report.search_text import edges_text, influence_text, search_facts, search_section, search_texts

CANDIDATES = [
    {"candidate": "gains", "influence": "uniform", "settings": {"num_layers": 1}, "log_loss": 0.5, "share": 0.25},
    {"candidate": "own", "influence": "uniform", "settings": {"channels": "own"}, "log_loss": 1.0, "share": 0.0},
    {"candidate": "gains", "influence": "learned", "settings": {"num_layers": 1}, "log_loss": 0.4, "share": 0.75},
]
INFLUENCE = {"tried": True, "learned_share": 0.75, "log_loss": 0.375, "log_loss_uniform": 0.5}
EDGES = {
    "code": "help",
    "log_loss_with": 0.4,
    "log_loss_without": 1.0,
    "standard_error": 0.1,
    "held_out_labels": 1500,
    "compatibility_diagonal": 0.8,
}
FOUND = {"search": CANDIDATES, "influence": INFLUENCE, "edges": EDGES}
NONE = {"search": None, "influence": None, "edges": None}


def test_consensus_influence_and_edges_are_named() -> None:
    assert search_texts(FOUND) == {
        "consensus": "gains with learned influence (75 %) and gains (25 %), of 3 candidates; log loss 0.375 on "
        "held-out labels",
        "influence": "learned in 75 % of the consensus; held-out log loss 0.375, and 0.500 with uniform influence",
        "edges": "help: neighbours tend to have equal labels (log loss 0.400 with edges, 1.000 with features alone, on "
        "1,500 held-out labels)",
    }


def test_a_run_of_one_model_has_no_sentences() -> None:
    assert search_texts(NONE) == {}
    assert search_facts(NONE) == {}
    assert search_facts({}) == {}
    assert search_section(NONE) is None


def test_where_edges_are_unknown_nothing_is_stated_about_them() -> None:
    assert "edges" not in search_texts({**FOUND, "edges": None})
    assert "edges" not in search_facts({**FOUND, "edges": None})


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("help", "help: neighbours tend to have equal labels"),
        ("oppose", "oppose: neighbours tend to have different labels"),
        ("nothing", "say nothing: they do not clearly improve on the features alone"),
    ],
)
def test_each_use_of_edges_has_a_sentence(code: str, text: str) -> None:
    assert edges_text({**EDGES, "code": code}).startswith(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"learned_share": 0.0}, "uniform; learned influence did not clearly lower the held-out log loss"),
        ({"learned_share": 0.0, "tried": False}, "uniform; learned influence was not tried"),
    ],
)
def test_uniform_influence_has_a_reason(changes: dict[str, Any], text: str) -> None:
    assert influence_text({**INFLUENCE, **changes}) == text


def test_facts_are_short() -> None:
    assert search_facts(FOUND) == {
        "consensus": "gains 25 %, gains with learned influence 75 %",
        "learned_influence": 0.75,
        "edges": "help",
    }


def test_the_section_lists_candidates_with_the_lowest_log_loss_first() -> None:
    section = search_section(FOUND)
    assert section is not None
    rows = [(row["name"], row["influence"], row["log_loss"], row["share"], row["bar"]) for row in section["candidates"]]
    assert rows == [
        ("gains", "learned", "0.400", "75 %", 40.0),
        ("gains", "uniform", "0.500", "25 %", 50.0),
        ("own", "uniform", "1.000", "", 100.0),
    ]
    assert section["candidates"][2]["settings"] == "channels = own"


def test_the_page_has_the_section_only_after_a_search(numbers: dict[str, Any]) -> None:
    title = "Search for settings"
    assert title not in render(numbers)[0].decode()
    page = render({**numbers, "search": FOUND})[0].decode()
    assert title in page
    assert "say nothing" not in page
    assert "neighbours tend to have equal labels" in page
