"""Labels as they were given: texts, whole numbers or truth values, which the program itself knows as texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from confgcn.data.label_texts import is_missing
from confgcn.exceptions import CorruptFileError

Kind = Literal["text", "whole", "truth"]


@dataclass(frozen=True)
class LabelValues:
    """How the texts of labels become again what they were."""

    kind: Kind = "text"

    @classmethod
    def of(cls, given: Any, texts: Sequence[str | None] | None) -> LabelValues:
        """The kind of labels that were ``given``; of those that came with a graph, whole numbers if all look so."""
        values = [
            value for value in np.asarray(given, dtype=object).reshape(-1) if not is_missing(value) and value != ""
        ]
        if given is None or isinstance(given, dict) or not values:
            known = [text for text in texts or () if text is not None]
            return cls("whole" if known and all(text.isdecimal() for text in known) else "text")
        if any(isinstance(value, str) for value in values):
            return cls("text")
        return cls("truth" if all(isinstance(value, bool | np.bool_) for value in values) else "whole")

    def array(self, names: Sequence[str]) -> npt.NDArray[Any]:
        """These labels as they were given, one each."""
        if self.kind == "text":
            return np.array(names, dtype=object)
        return np.array([int(name) if self.kind == "whole" else name == "True" for name in names])

    def to_json(self) -> dict[str, str]:
        """As values that JSON can hold."""
        return {"labels": self.kind}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> LabelValues:
        """From the values of :meth:`to_json`; texts where there are none."""
        kind = record.get("labels", "text")
        if kind not in get_args(Kind):
            raise CorruptFileError(f"labels = {kind!r}: expected {', '.join(get_args(Kind))}")
        return cls(kind)
