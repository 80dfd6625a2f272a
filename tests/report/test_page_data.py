"""The data inside the page: every quantity can be read back, and what does not fit is left out."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from confgcn.report.page_data import MAX_NEIGHBOURS, STEPS, pack, visible


def column(packed_data: dict[str, Any]) -> np.ndarray[Any, Any]:
    raw = np.frombuffer(base64.b64decode(packed_data["data"]), dtype=f"<u{packed_data['bits'] // 8}")
    return (
        packed_data["low"] + (packed_data["high"] - packed_data["low"]) * raw / STEPS if "low" in packed_data else raw
    )


def test_invisible_characters_are_escaped_and_others_are_kept() -> None:
    assert visible("a\x00b\u202ec\nd") == "a\\x00b\\u202ec\\nd"
    assert visible("שלום é 👩\u200d🔬") == "שלום é 👩\u200d🔬"


def test_every_quantity_can_be_read_back(numbers: dict[str, Any]) -> None:
    packed_data, nodes = json.loads(pack(numbers).text), numbers["nodes"]
    packed = {f"{name}_by_class": packed_data[name] for name in ("probability", "mu", "precision")}
    packed |= {"self_influence": packed_data["own"], **{fact["name"]: fact["values"] for fact in packed_data["facts"]}}
    assert {"novelty", "evidence"} <= packed.keys()
    for name, written in packed.items():
        values = np.asarray(nodes[name])
        step = (values.max() - min(0, values.min())) / STEPS
        assert np.abs(column(written) - values.ravel()).max() <= max(step, 1 / STEPS)
    for name in ("label", "split", "degree", "accepted"):
        assert column(packed_data[name]).tolist() == nodes[name]
    assert (column(packed_data["known"]).astype(int) - 1).tolist() == nodes["known_label"]
    assert column(packed_data["sets"]).tolist() == [1 << c for (c,) in nodes["set"]]
    assert column(packed_data["neighbours"]).tolist() == numbers["neighbours"]["node"]
    assert column(packed_data["listed"]).tolist() == np.diff(numbers["neighbours"]["start"]).tolist()


def test_sets_of_more_than_eight_classes_take_more_bytes(page_numbers: Any) -> None:
    numbers = page_numbers(["a", "b"], [f"c{n}" for n in range(10)], [(0, 1)])
    numbers["nodes"]["set"] = [[0, 9], [8]]
    assert column(json.loads(pack(numbers).text)["sets"]).tolist() == [1, 2, 0, 1]


def test_nothing_is_omitted_that_would_not_save_space(page_numbers: Any) -> None:
    numbers = page_numbers([f"node {n}" for n in range(300)], list("abc"), [(n, n + 1) for n in range(299)])
    assert [text.split()[0] for text in pack(numbers, 4000).left_out] == ["Precisions", "Label", "To"]


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
    packed_data = json.loads(data.text)
    assert packed_data["precision"] is None
    assert packed_data["mu"] is None
    assert column(packed_data["listed"]).max() <= MAX_NEIGHBOURS
    assert sorted(data.positions) == list(
        range(len(packed_data["names"]))
    )  # the ranks of these numbers are their places
    assert column(packed_data["neighbours"]).max() < len(packed_data["names"])
