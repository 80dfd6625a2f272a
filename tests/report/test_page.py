"""The page of a run: names stay text, and only the page's own script may run."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from typing import Any

from confgcn.report.page import render
from confgcn.report.page_data import pack, visible

HOSTILE = (
    "</script><script>window.__fired=1</script>",
    '"><img src=x onerror="window.__fired=1">',
    "{{7*7}}{% raw %}",
    "javascript:window.__fired=1",
    "a\u2028b\u2029c",
    "=1+1",
    "tab\there\x00\x1b[31m",
    "\u202egnp.exe",
    "שלום",
    "<!--",
    "&lt;b&gt;",
    "\ud800",
)


def page_of(numbers: dict[str, Any], **options: Any) -> str:
    return render(numbers, **options)[0].decode()


def data_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(text)
    return data


def test_names_that_are_code_appear_as_text_and_nowhere_as_markup(page_numbers: Any) -> None:
    page = page_of(page_numbers(HOSTILE, HOSTILE[:4], [(0, n) for n in range(1, 12)], graph=HOSTILE[0]))
    assert "<script>window" not in page
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert "\u2028" not in page
    assert "\u202e" not in page
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", page)
    assert "{{7*7}}" in page
    assert "49{% raw" not in page
    shown = html.unescape(page)
    assert all(visible(name) in shown for name in HOSTILE)
    assert data_of(page)["names"] == [visible(name) for name in HOSTILE]
    assert not re.search(r'href="(?!#|data:)', page)


def test_the_policy_allows_the_script_of_the_page_and_nothing_else(numbers: dict[str, Any]) -> None:
    page = page_of(numbers)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = html.unescape(re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[0])
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.count("'unsafe-inline'") == 1
    assert "innerHTML" not in script
    assert "http:" not in script.replace("http://www.w3.org/2000/svg", "")
    assert "https:" not in page


def test_a_node_that_was_left_out_is_named_but_not_linked(page_numbers: Any) -> None:
    numbers = page_numbers([f"node {n}" for n in range(300)], list("abc"), [(n, n + 1) for n in range(299)])
    numbers["tables"]["labels"][0] |= {"node": "node 299", "place": 299}
    data = pack(numbers, 4000)
    page = page_of(numbers, max_bytes=4000)
    assert 299 not in data.positions
    assert "<bdi>node 299</bdi></td>" in page
    links = [int(place) for place in re.findall(r'href="#node=(\d+)"', page)]
    assert max(links) < len(data.positions)


ABSENT = (
    *("mu_by_class", "precision_by_class", "self_influence", "evidence", "most_influential_neighbour"),
    *("set", "accepted", "novelty"),
)


def test_a_method_without_confidences_and_without_epochs_has_a_page_too(numbers: dict[str, Any]) -> None:
    for name in ABSENT:
        numbers["nodes"][name] = None
    numbers["neighbours"]["influence"] = None
    numbers["training"]["history"] = []
    page = page_of(numbers)
    assert "not trained in epochs" in page
    assert data_of(page)["mu"] is None
    assert "precision of the predicted label" not in page


def test_long_names_are_truncated(page_numbers: Any) -> None:
    page = page_of(page_numbers(["x" * 5000, "b"], ["c", "d"], [(0, 1)]))
    assert "x" * 200 + "… (5,000 characters)" in page
    assert "x" * 201 not in data_of(page)["names"][0]


def test_without_held_out_labels_nothing_is_evaluated(numbers: dict[str, Any]) -> None:
    numbers["quality"], numbers["about"]["decisions"] = None, []
    page = page_of(numbers)
    assert "nothing can be evaluated" in page
    assert 'class="confusion"' not in page


def test_what_was_left_out_is_stated_on_the_page(page_numbers: Any) -> None:
    edges = [(u, v) for u in range(400) for v in range(u + 1, min(400, u + 20))]
    numbers = page_numbers([f"node {n}" for n in range(400)], list("abcdefghij"), edges)
    max_bytes = int(0.3 * len(pack(numbers).text.encode()))
    page = page_of(numbers, max_bytes=max_bytes)
    assert "precision of the predicted label" in page_of(numbers)
    assert "precision of the predicted label" not in page
    assert all(html.escape(text) in page for text in pack(numbers, max_bytes).left_out)


def test_warnings_stand_above_the_sections_as_text(numbers: dict[str, Any]) -> None:
    assert "Check this result" not in page_of(numbers)
    numbers["about"]["notices"] = [{"code": "one_class", "label": "<b>x</b>", "nodes": 5}]
    page = page_of(numbers)
    assert "All 5 nodes that were not trained on are predicted as class &lt;b&gt;x&lt;/b&gt;." in page
    assert page.index("Check this result") < page.index("<main>")
