"""Damage to bytes that does not depend on their format."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from random import Random

from fuzzing.canaries import canaries

MOST_BYTES = 200_000  # of a file; larger ones only take longer
EXTREMES = (
    0,
    1,
    -1,
    127,
    128,
    255,
    2**15,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    -(2**63),
)
NUMBERS = (
    *(str(number) for number in EXTREMES),
    *(
        "-0",
        "1e308",
        "-1e308",
        "1e309",
        "1e39",
        "3.4028236e38",
        "1e-320",
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "0.5",
        "1e5",
    ),
    *("1_0", "0x10", "١٢", "1,5", "9" * 400, "9" * 5000, "1e999999999", "0." + "3" * 400, "+1", " 1", "1e", "--1"),
)
TOKENS = (
    *(
        b'"',
        b"'",
        b'""',
        b",",
        b";",
        b"\t",
        b"|",
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"\\",
        b" ",
        b"#",
        b"=",
        b"/",
        b"\x1b[2J",
    ),
    *(b"..", b"../../x", b"/etc/passwd", b"$(touch x)", b"`x`", b";rm -r x", b"%s%n", b"{0.__class__}", b"{{7*7}}"),
    *(b"<!ENTITY a SYSTEM 'file:///etc/passwd'>", b"<!DOCTYPE a>", b"&a;", b"&#0;", b"]]>", b"<![CDATA[", b"</graph>"),
    *(
        b"<script>",
        b"</script>",
        b"<node/>",
        b"<port/>",
        b"<graph>",
        b"<data key='k'>",
        b"{",
        b"}",
        b"[",
        b"]",
        b"[[",
        b":",
    ),
    *(b"null", b"true", b"None", b"NA", b"[" * 3000, b'{"a":' * 3000, b"a" * 5000, b"!!python/object:os.system"),
    *(
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        "\u0085".encode(),
        "\u2028".encode(),
    ),
    *(
        "e\u0301\u200b\u202e\U0001f600".encode(),
        b"cos\nsystem\n(S'x'\ntR.",
        b"PK\x03\x04",
        b"PK\x05\x06",
        b"PAR1",
        b"BZh9",
    ),
    *(b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"\x93NUMPY\x01\x00", b"\x80\x04", b"\x89HDF", b"__proto__", b"source,target"),
    *(b"train", b"label", b"id", b"features", b"nan", b"1e999"),
)

Damage = Callable[[bytes, Random, Sequence[bytes]], bytes]


def damaged(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The content after one to four random changes; ``others`` are valid files of the same reader."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        content = random.choice(INJURIES)(content, random, others)[:MOST_BYTES]
    return content


def _flip_bits(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    flipped = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8, 64, len(content) // 8)) if content else 0):
        flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
    return bytes(flipped)


def _truncate(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Anywhere, near either end, or after a line or a zero byte."""
    ends = [match.end() for match in re.finditer(rb"[\n\0]", content)][:1000]
    near = random.randrange(min(len(content), 64) + 1)
    places = [0, near, max(len(content) - near, 0), random.randrange(len(content) + 1), *ends[-1:]]
    return content[: random.choice(places if not ends else [*places, random.choice(ends)])]


def _random_bytes(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """In the place of a part, of nothing, or of all."""
    start, end = _span(content, random)
    fresh = random.randbytes(random.choice((1, 4, 32, 300)))
    return random.choice((content[:start] + fresh + content[end:], content[:start] + fresh + content[start:], fresh))


def _remove(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(content, random)
    return content[:start] + content[end:]


def _duplicate(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(content, random)
    return content[:end] + content[start:end] * random.choice((1, 1, 2, 50)) + content[end:]


def _swap(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    first, second, third, fourth = sorted(random.randrange(len(content) + 1) for _ in range(4))
    return content[:first] + content[third:fourth] + content[second:third] + content[first:second] + content[fourth:]


def _splice(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The beginning of one file and the end of another."""
    other = random.choice(others) if others else content
    return content[: random.randrange(len(content) + 1)] + other[random.randrange(len(other) + 1) :]


def _put_token(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    start, end = _span(content, random, longest=8)
    return content[:start] + random.choice(TOKENS) + content[random.choice((start, end)) :]


def _put_number(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Another number in the place of one that is written in digits."""
    found = [match.span() for match in re.finditer(rb"-?\d+(\.\d+)?", content[:MOST_BYTES])]
    if not found:
        return _put_binary_number(content, random, others)
    start, end = random.choice(found)
    return content[:start] + random.choice(NUMBERS).encode() + content[end:]


def _put_binary_number(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Another number over some bytes, which may have been one."""
    size = random.choice((1, 2, 4, 8))
    number = struct.pack("<Q", random.choice(EXTREMES) % 2**64)[:size]
    start = random.randrange(len(content) + 1)
    start -= start % random.choice((1, size))
    return content[:start] + random.choice((number, number[::-1])) + content[start + size :]


def _put_float(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    value = random.choice((float("nan"), float("inf"), -float("inf"), 1e308, 1e-320, -0.0))
    fresh = struct.pack(random.choice(("<d", ">d")), value)
    start = 8 * random.randrange(len(content) // 8 + 1)
    return content[:start] + fresh + content[start + 8 :]


def _put_canary(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """A file that executes code when it is unpickled, instead of this one or inside it."""
    canary = random.choice(list(canaries().values()))
    start, _ = _span(content, random)
    return random.choice((canary, content[:start] + canary + content[start:]))


def _span(content: bytes, random: Random, longest: int | None = None) -> tuple[int, int]:
    start = random.randrange(len(content) + 1)
    size = random.choice((1, 2, 8, 64, 1024, max(len(content) // 2, 1)))
    return start, min(len(content), start + min(size, longest or size))


INJURIES: tuple[Damage, ...] = (
    _flip_bits,
    _flip_bits,
    _truncate,
    _random_bytes,
    _remove,
    _duplicate,
    _swap,
    _splice,
    _put_token,
    _put_token,
    _put_number,
    _put_number,
    _put_binary_number,
    _put_float,
    _put_canary,
)
