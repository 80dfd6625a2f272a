"""Labels of any type as texts, the rule for which labels are unknown, and the conversion back to their values."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch

from confgcn.exceptions import CorruptFileError, DataError
from confgcn.graph import validation as checks

UNKNOWN = -1  # as a number
MOST_DIGITS = 18  # of a 64-bit integer

Kind = Literal["text", "whole", "truth"]


def label_texts(values: Any, count: int) -> list[str | None]:
    """One text per node, None for unknown: that is -1, NaN, None or an empty text.

    Texts stay as they are. Whole numbers from 0 become texts, also where they are given as floats, because NaN makes
    floats of them; truth values become ``True`` and ``False``. Any other number is refused as a quantity, not a class.
    """
    listed = _one_per_node(values, count)
    return [_label_text(value, node) for node, value in enumerate(listed)]


def named_labels(numbers_of_classes: Sequence[str | None], class_names: Sequence[str]) -> list[str | None]:
    """Replace the numbers of classes by their names."""
    names = {str(number): str(name) for number, name in enumerate(class_names)}
    unnamed = next((text for text in numbers_of_classes if text is not None and text not in names), None)
    if unnamed is not None:
        raise DataError(f"labels: class {unnamed} has no name; there are {len(names)} class_names")
    return [None if text is None else names[text] for text in numbers_of_classes]


def _one_per_node(values: Any, count: int) -> list[Any]:
    if isinstance(values, list | tuple):
        listed = list(values)  # numpy would make the text "nan" of a NaN among texts
    else:
        given = values.detach().cpu() if isinstance(values, torch.Tensor) else values
        array = checks.as_array(given, "labels")
        if array.ndim == 2 and array.shape[1] != 1:
            raise DataError(f"labels: expected one per node, got shape {array.shape}; several labels are not supported")
        listed = array.reshape(-1).tolist() if array.ndim in (1, 2) else []
    if len(listed) != count:
        raise DataError(f"labels: expected one per node, {count}, got {len(listed)}")
    return listed


def _label_text(value: Any, node: int) -> str | None:
    plain = value.item() if isinstance(value, np.generic | torch.Tensor) and np.ndim(value) == 0 else value
    if is_missing(plain):
        return None
    if isinstance(plain, str):
        return plain or None
    if isinstance(plain, bool):
        return str(plain)
    if isinstance(plain, numbers.Real):
        return _number_text(plain, node)
    raise DataError(f"labels: node {node} has {plain!r}; expected a text or a whole number, one label per node")


def is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has in their place."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _number_text(number: Any, node: int) -> str | None:
    if not isinstance(number, numbers.Integral) and not float(number).is_integer():
        raise DataError(
            f"labels: node {node} has {number}, a continuous value and no class; expected whole numbers or texts"
        )
    if number < UNKNOWN:
        raise DataError(f"labels: node {node} has {number}; classes are numbered from 0, and {UNKNOWN} is unknown")
    return None if number == UNKNOWN else str(int(number))


@dataclass(frozen=True)
class LabelValues:
    """How the texts of labels are converted back to the values that were given."""

    kind: Kind = "text"

    @classmethod
    def of(cls, given: Any, names: Sequence[str]) -> LabelValues:
        """The kind of labels that were ``given``, by node or in order, and became the classes ``names``.

        Where they are part of a graph object, they are whole numbers if all are spelled so.
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
    """Whether it spells a whole number in the usual way; 07 does not, because it would become 7."""
    return name.isascii() and name.isdecimal() and len(name) <= MOST_DIGITS and str(int(name)) == name
