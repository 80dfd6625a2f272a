"""Labels as they were given: texts, whole numbers or truth values, which the program itself knows as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from confgcn.data.label_texts import UNKNOWN, is_missing
from confgcn.exceptions import CorruptFileError

Kind = Literal["text", "whole", "truth"]

MOST_DIGITS = 18  # that every number of 64 bits can have


@dataclass(frozen=True)
class LabelValues:
    """How the texts of labels become again what they were."""

    kind: Kind = "text"

    @classmethod
    def of(cls, given: Any, names: Sequence[str]) -> LabelValues:
        """The kind of labels that were ``given``, by node or in order, and became the classes ``names``.

        Where they came with a graph, nothing else is known of them: whole numbers if all look so.
        """
        values = [] if given is None or isinstance(given, str) else _known_values(given)
        if not values:
            return cls("whole" if all(_is_whole(name) for name in names) else "text")
        are_truths = [isinstance(value, bool | np.bool_) for value in values]
        if all(are_truths):
            return cls("truth")
        are_texts = [isinstance(value, str) for value in values]
        return cls("text" if any(are_truths) or any(are_texts) else "whole")

    def array(self, names: Sequence[str]) -> npt.NDArray[Any]:
        """These labels as they were given, one each."""
        if self.kind == "text":
            return np.array(names, dtype=object)
        return np.array([int(name) if self.kind == "whole" else name == "True" for name in names])

    def to_json(self) -> dict[str, str]:
        """As values that JSON can hold."""
        return {"labels": self.kind}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> LabelValues:
        """From the values of :meth:`to_json`."""
        kind: Any = record.get("labels")
        if kind not in get_args(Kind):
            raise CorruptFileError(f"labels = {kind!r}: expected {', '.join(get_args(Kind))}")
        return cls(kind)


def _known_values(given: Any) -> list[Any]:
    listed = list(given.values()) if isinstance(given, Mapping) else np.asarray(given, dtype=object).reshape(-1)
    return [value for value in listed if not is_missing(value) and value != "" and not _is_unknown(value)]


def _is_unknown(value: Any) -> bool:
    return not isinstance(value, str) and bool(value == UNKNOWN)


def _is_whole(name: str) -> bool:
    """Is it a number, written as numbers are? 07 is none, for nothing would tell it from 7."""
    return name.isascii() and name.isdecimal() and len(name) <= MOST_DIGITS and str(int(name)) == name
