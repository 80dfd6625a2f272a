"""Check the history of a training, one record per epoch, when it is read."""

from __future__ import annotations

import math
from typing import Any

from confgcn.exceptions import CorruptFileError, brief
from confgcn.training.selection import Record

LARGEST_WHOLE = 2**53  # that a float holds exactly


def checked_history(records: Any) -> list[Record]:
    """The records if they are valid: epochs count up from one, each has a loss, all numbers are finite."""
    if not isinstance(records, list):
        raise CorruptFileError("the history is not a list of epochs")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or record.get("epoch") != number or "loss" not in record:
            raise CorruptFileError(f"epoch {number} of the history is missing or damaged")
        wrong = next((name for name, value in record.items() if not _is_number(value)), None)
        if wrong is not None:
            raise CorruptFileError(f"epoch {number} of the history: {brief(wrong)} is not a finite number")
    return records


def _is_number(value: Any) -> bool:
    return math.isfinite(value) if isinstance(value, float) else type(value) is int and abs(value) <= LARGEST_WHOLE
