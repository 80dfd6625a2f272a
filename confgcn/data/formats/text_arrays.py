"""Names of nodes that are made when they are asked for: numbers, or texts in two arrays that may be mapped."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt


class LazyTexts(Sequence[str]):
    """A sequence of texts of which none is kept."""

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...

    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        places = range(len(self))[place]  # as of any sequence: from the end, and not beyond it
        return self.text(places) if isinstance(places, int) else tuple(map(self.text, places))

    @abstractmethod
    def text(self, place: int) -> str:
        """The text at a place from 0."""


class Numbers(LazyTexts):
    """The names of nodes that have none: "0", "1", ..."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def text(self, place: int) -> str:
        return str(place)


class TextArrays(LazyTexts):
    """UTF-8 bytes, and the place where each text ends."""

    def __init__(self, content: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self._content, self._ends = content, ends

    def __len__(self) -> int:
        return len(self._ends)

    def text(self, place: int) -> str:
        start = int(self._ends[place - 1]) if place else 0
        return self._content[start : int(self._ends[place])].tobytes().decode()


def encoded(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The arrays of :class:`TextArrays`."""
    parts: list[Any] = [text.encode() for text in texts]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return np.frombuffer(b"".join(parts), dtype=np.uint8), ends
