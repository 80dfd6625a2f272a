"""A record that is read again fits its model, or the first place that does not is named."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from confgcn.exceptions import CorruptFileError
from confgcn.io.records import checked_record


class Thing(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    count: int
    names: list[str]


def test_one_that_fits() -> None:
    assert checked_record(Thing, {"count": 2, "names": ["a"]}, "x") == Thing(count=2, names=["a"])


@pytest.mark.parametrize(
    ("record", "place"),
    [
        ({"names": []}, "count: field required"),
        ({"count": "2", "names": []}, "count: input should be a valid integer"),
        ({"count": 2, "names": ["a", 3]}, r"names\.1: input should be a valid string"),
        ({"count": 2, "names": [], "more": 1}, "more: extra inputs"),
    ],
)
def test_the_first_place_that_does_not_fit_is_named(record: dict[str, Any], place: str) -> None:
    with pytest.raises(CorruptFileError, match=rf"^file: no thing \({place}"):
        checked_record(Thing, record, "file: no thing")
