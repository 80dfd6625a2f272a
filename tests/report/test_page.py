"""The page of a run: names stay text, the script is the one that is allowed, the data can be read back."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from typing import Any

import numpy as np
import pytest

from confgcn.report import sections
from confgcn.report.page import render
from confgcn.report.page_data import MAX_NEIGHBOURS, STEPS, pack, visible
from confgcn.report.run_charts import groups, losses, reliability, validation

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
    found: dict[str, Any] = json.loads(text)
    return found


def column(found: dict[str, Any]) -> np.ndarray[Any, Any]:
    raw = np.frombuffer(base64.b64decode(found["data"]), dtype=f"<u{found['bits'] // 8}")
    return found["low"] + (found["high"] - found["low"]) * raw / STEPS if "low" in found else raw


@pytest.fixture
def numbers(page_numbers: Any) -> dict[str, Any]:
    found: dict[str, Any] = page_numbers([f"n{i}" for i in range(6)], ["x", "y", "z"], [(0, 1), (1, 2), (2, 3), (1, 3)])
    return found


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


def test_invisible_characters_are_escaped_and_others_are_kept() -> None:
    assert visible("a\x00b\u202ec\nd") == "a\\x00b\\u202ec\\nd"
    assert visible("שלום é 👩\u200d🔬") == "שלום é 👩\u200d🔬"


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


def test_every_quantity_can_be_read_back(numbers: dict[str, Any]) -> None:
    found, nodes = data_of(page_of(numbers)), numbers["nodes"]
    packed = {f"{name}_by_class": found[name] for name in ("probability", "mu", "precision")}
    packed |= {"self_influence": found["own"], **{fact["name"]: fact["values"] for fact in found["facts"]}}
    assert {"novelty", "evidence"} <= packed.keys()
    for name, written in packed.items():
        values = np.asarray(nodes[name])
        step = (values.max() - min(0, values.min())) / STEPS
        assert np.abs(column(written) - values.ravel()).max() <= max(step, 1 / STEPS)
    for name in ("label", "split", "degree", "accepted"):
        assert column(found[name]).tolist() == nodes[name]
    assert (column(found["known"]).astype(int) - 1).tolist() == nodes["known_label"]
    assert column(found["sets"]).tolist() == [1 << c for (c,) in nodes["set"]]
    assert column(found["neighbours"]).tolist() == numbers["neighbours"]["node"]
    assert column(found["listed"]).tolist() == np.diff(numbers["neighbours"]["start"]).tolist()


def test_sets_of_more_than_eight_classes_take_more_bytes(page_numbers: Any) -> None:
    numbers = page_numbers(["a", "b"], [f"c{n}" for n in range(10)], [(0, 1)])
    numbers["nodes"]["set"] = [[0, 9], [8]]
    assert column(data_of(page_of(numbers))["sets"]).tolist() == [1, 2, 0, 1]


def test_what_does_not_fit_is_left_out_in_order_and_named(page_numbers: Any) -> None:
    size = 400
    edges = [(u, v) for u in range(size) for v in range(u + 1, min(size, u + 20))]
    numbers = page_numbers([f"node {n}" for n in range(size)], list("abcdefghij"), edges)
    full = len(pack(numbers).text.encode())
    assert pack(numbers).left_out == []
    seen = []
    for share in (0.95, 0.85, 0.7, 0.3):
        data = pack(numbers, int(share * full))
        assert len(data.text.encode()) <= share * full
        seen.append(len(data.left_out))
    assert seen == [1, 2, 3, 4]
    assert [text.split()[0] for text in data.left_out] == ["Precisions", "Label", "Only", "To"]
    found = json.loads(data.text)
    assert found["precision"] is None
    assert found["mu"] is None
    assert column(found["listed"]).max() <= MAX_NEIGHBOURS
    assert sorted(data.positions) == list(range(len(found["names"])))  # the ranks of these numbers are their places
    assert column(found["neighbours"]).max() < len(found["names"])
    page = page_of(numbers, max_bytes=int(0.3 * full))
    assert "precision of the predicted label" in page_of(numbers)
    assert "precision of the predicted label" not in page
    assert all(html.escape(text) in page for text in data.left_out)


def test_a_node_that_was_left_out_is_named_but_not_linked(page_numbers: Any) -> None:
    numbers = page_numbers([f"node {n}" for n in range(300)], list("abc"), [(n, n + 1) for n in range(299)])
    numbers["tables"]["labels"][0] |= {"node": "node 299", "place": 299}
    data = pack(numbers, 4000)
    page = page_of(numbers, max_bytes=4000)
    assert 299 not in data.positions
    assert "<bdi>node 299</bdi></td>" in page
    links = [int(place) for place in re.findall(r'href="#node=(\d+)"', page)]
    assert max(links) < len(data.positions)


def test_the_headline_states_accuracy_and_decision(numbers: dict[str, Any]) -> None:
    assert sections.headline(numbers) == [
        "5 nodes were predicted from 1 training labels.",
        "The accuracy is 75.0 % on 14 test nodes.",
        "Accept 3 of 5 nodes (60 %), error at most 5 % with 90 % certainty.",
    ]
    numbers["quality"], numbers["about"]["decisions"] = None, []
    assert "accuracy is unknown" in sections.headline(numbers)[-1]
    page = page_of(numbers)
    assert "nothing can be evaluated" in page
    assert 'class="confusion"' not in page


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


def test_classes_beyond_z_have_two_letters() -> None:
    assert [sections.code(n) for n in (0, 25, 26, 51, 52, 26 * 27)] == ["A", "Z", "AA", "AZ", "BA", "AAA"]


def test_the_most_frequent_error_is_named(numbers: dict[str, Any]) -> None:
    numbers["quality"]["confusion"] = [[9, 1, 0], [0, 8, 5], [2, 0, 7]]
    assert "y predicted as z (5 nodes)" in sections.confusion(numbers)["sentence"]


def test_of_many_classes_the_most_frequent_are_shown(page_numbers: Any) -> None:
    numbers = page_numbers(["a", "b"], [f"c{n}" for n in range(30)], [(0, 1)])
    counts = [[n if n == m else 0 for m in range(30)] for n in range(30)]
    numbers["quality"]["confusion"] = counts
    found = sections.confusion(numbers)
    assert [row["name"] for row in found["rows"]] == [f"c{n}" for n in range(10, 30)]
    assert found["rows"][0]["cells"][0] == ("10", round(100 * (10 / 29) ** 0.5))
    assert "The 20 most frequent of 30 classes are shown." in found["sentence"]


def test_long_names_are_truncated(page_numbers: Any) -> None:
    page = page_of(page_numbers(["x" * 5000, "b"], ["c", "d"], [(0, 1)]))
    assert "x" * 200 + "… (5,000 characters)" in page
    assert "x" * 201 not in data_of(page)["names"][0]


def test_nothing_is_omitted_that_would_not_save_space(page_numbers: Any) -> None:
    numbers = page_numbers([f"node {n}" for n in range(300)], list("abc"), [(n, n + 1) for n in range(299)])
    assert [text.split()[0] for text in pack(numbers, 4000).left_out] == ["Precisions", "Label", "To"]


def test_charts_have_a_description_and_their_numbers(numbers: dict[str, Any]) -> None:
    curves = numbers["quality"]["curves"]
    assert "1 of 2 points lie" in reliability(curves).sentence
    assert reliability(curves).rows[1] == ("9", "90.0 %", "60.0 %", "70.0 to 100.0 %")
    degree, entropy = groups(curves)
    assert [row[0] for row in degree.rows] == ["lowest", "2nd", "highest"]
    assert "group “highest”: confidence 80.0 %, accuracy 70.0 %" in entropy.sentence
    history = numbers["training"]["history"]
    loss, accuracy = losses(history), validation(history, 30)
    assert loss is not None
    assert accuracy is not None
    assert loss.header == ("epoch", "loss", "cross", "reg")
    assert "3 in the first and 0.075 in the last epoch" in loss.sentence
    assert "logarithmic" in loss.sentence
    assert "epoch 30 were selected, with an accuracy of 50.0 %" in accuracy.sentence
    assert losses([]) is None
    assert validation([{"epoch": 1, "loss": 1.0, "loss_a": 1.0}], None) is None


def test_a_loss_term_of_zero_does_not_stop_the_chart() -> None:
    history = [{"epoch": e, "loss": 1.0 / e, "loss_a": 1.0 / e**3, "loss_b": 0.0} for e in range(1, 9)]
    found = losses(history)
    assert found is not None
    assert found.rows[0] == ("1", "1", "1", "0")
