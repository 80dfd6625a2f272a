"""Names that are not kept in memory behave like a tuple."""

from __future__ import annotations

import pytest

from confgcn.data.formats.text_arrays import LazyTexts, Numbers, TextArrays, encoded

TEXTS = ("", "a\0", "é\n", "👩‍🔬", "4")


@pytest.mark.parametrize(
    ("lazy", "expected"), [(Numbers(5), tuple("01234")), (TextArrays(*encoded(TEXTS)), TEXTS), (Numbers(0), ())]
)
def test_every_text_is_where_it_would_be_in_a_tuple(lazy: LazyTexts, expected: tuple[str, ...]) -> None:
    assert tuple(lazy) == expected
    assert len(lazy) == len(expected)
    assert lazy[1:4] == expected[1:4]
    assert lazy[::-2] == expected[::-2]
    for place in range(-len(expected), len(expected)):
        assert lazy[place] == expected[place]
    for place in (len(expected), -len(expected) - 1):
        with pytest.raises(IndexError):
            lazy[place]


def test_a_text_is_found() -> None:
    assert "3" in Numbers(5)
    assert "5" not in Numbers(5)
    assert Numbers(5).index("3") == 3
