"""Sequences of node names that are not kept in memory: numbers, or texts in two arrays that may be memory-mapped."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt


class LazyTexts(Sequence[str]):
    """A sequence of texts that are created when they are used and not kept."""

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...

    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        places = range(len(self))[place]  # negative and out-of-range positions as in any sequence
        return self.text(places) if isinstance(places, int) else tuple(map(self.text, places))

    @abstractmethod
    def text(self, place: int) -> str:
        """The text at a position from 0."""


class Numbers(LazyTexts):
    """The default names of nodes: "0", "1", ..."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def text(self, place: int) -> str:
        return str(place)


class TextArrays(LazyTexts):
    """UTF-8 bytes, and the position where each text ends."""

    def __init__(self, content: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self._content, self._ends = content, ends

    def __len__(self) -> int:
        return len(self._ends)

    def text(self, place: int) -> str:
        start = int(self._ends[place - 1]) if place else 0
        return self._content[start : int(self._ends[place])].tobytes().decode()


def encoded(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The arrays of :class:`TextArrays`."""
    contents: list[Any] = [text.encode() for text in texts]
    ends = np.cumsum([len(content) for content in contents], dtype=np.int64)
    return np.frombuffer(b"".join(contents), dtype=np.uint8), ends
