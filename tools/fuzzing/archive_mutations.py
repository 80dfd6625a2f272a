"""Damage inside npz archives and npy files: checksums stay valid, so that the content is read."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from fuzzing.byte_mutations import EXTREMES, damaged
from fuzzing.canaries import canaries

MAGIC = b"\x93NUMPY"
DIRECTORY_ENTRY, DIRECTORY_END = b"PK\x01\x02", b"PK\x05\x06"
DESCRIPTIONS = (
    *(
        "'|O'",
        "'<f8'",
        "'>f8'",
        "'<f2'",
        "'<f16'",
        "'<c16'",
        "'|b1'",
        "'|i1'",
        "'<u8'",
        "'<M8[s]'",
        "'<m8[ns]'",
        "'|S3'",
    ),
    *(
        "'<U100'",
        "'|V8'",
        "'<U2147483647'",
        "[('a', '<i8')]",
        "[('a', '|O')]",
        "'|S0'",
        "'<f9'",
        "None",
        "('<f8', (2, 2))",
    ),
    *("'<i8' * 9", "__import__('os').mkdir('canary')", "[" * 200, "{}", "'O'", "'object'", "'<U4294967296'"),
)
NAMES = (
    "../x.npy",
    "/x.npy",
    "x.npy.npy",
    "",
    "features",
    "ids.npy",
    "confgcn_graph.npy",
    "a\0b.npy",
    "é" * 200,
    "x" * 60_000,
)

Members = list[tuple[str, bytes]]


def damaged_npy(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """Another header above the same bytes, another array, or the same array damaged."""
    kind = random.randrange(3)
    if kind == 0:
        return _odd_array(random)
    split = content.find(b"\n") + 1
    if kind == 1 or not split:
        return content[:split] + damaged(content[split:], random, others)
    return _header(random, content) + content[split:]


def damaged_zip(content: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """One member or the directory is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # an archive that was damaged before
        return damaged(content, random, others)
    if not members:
        return damaged(content, random, others)
    members = random.choice(MEMBER_DAMAGES)(members, random)
    packed = _packed(members, random)
    return _lying_directory(packed, random) if random.random() < 0.2 else packed


def _damage_member(members: Members, random: Random) -> Members:
    place = random.randrange(len(members))
    name, content = members[place]
    change = damaged_npy if content.startswith(MAGIC) and random.random() < 0.8 else damaged
    return [*members[:place], (name, change(content, random, [other for _, other in members])), *members[place + 1 :]]


def _drop(members: Members, random: Random) -> Members:
    gone = random.randrange(len(members))
    return [member for place, member in enumerate(members) if place != gone]


def _rename(members: Members, random: Random) -> Members:
    place = random.randrange(len(members))
    name = random.choice((*NAMES, *(name for name, _ in members)))
    return [*members[:place], (name, members[place][1]), *members[place + 1 :]]


def _exchange(members: Members, random: Random) -> Members:
    """One array under the name of another."""
    place, other = (random.randrange(len(members)) for _ in range(2))
    return [*members[:place], (members[place][0], members[other][1]), *members[place + 1 :]]


def _add(members: Members, random: Random) -> Members:
    content = random.choice((_odd_array(random), canaries()["npy"], canaries()["pickle4"], b""))
    return [*members, (random.choice((*NAMES, "features.npy", "labels.npy", "split.npy")), content)]


MEMBER_DAMAGES: tuple[Callable[[Members, Random], Members], ...] = (
    _damage_member,
    _damage_member,
    _damage_member,
    _damage_member,
    _drop,
    _rename,
    _exchange,
    _add,
)


def _packed(members: Members, random: Random) -> bytes:
    stream = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members:
            info = zipfile.ZipInfo("x")
            info.filename = name  # the constructor would cut it at a NUL
            info.compress_type = method
            info.external_attr = random.choice((0, 0, 0, 0o120777 << 16, 0x10))  # a link, a folder
            _write_quietly(archive, info, content)
    return stream.getvalue()


def _write_quietly(archive: zipfile.ZipFile, info: zipfile.ZipInfo, content: bytes) -> None:
    """Write without the warning about a duplicate name."""
    archive.NameToInfo.pop(info.filename, None)
    archive.writestr(info, content)


def _lying_directory(content: bytes, random: Random) -> bytes:
    """Another number in the directory, where sizes, offsets, methods, flags and counts are."""
    sign = random.choice((DIRECTORY_ENTRY, DIRECTORY_END))
    places = [place for place in range(len(content)) if content.startswith(sign, place)]
    if not places:
        return content
    start = random.choice(places) + random.choice((8, 10, 16, 20, 24, 28, 30, 32, 42))
    size = random.choice((2, 4))
    number = struct.pack("<Q", random.choice(EXTREMES) % 2**64)[:size]
    return content[:start] + number + content[start + size :]


def _header(random: Random, content: bytes) -> bytes:
    sides = [random.choice((0, 1, 2, 3, 5, 7, 24, *EXTREMES)) for _ in range(random.randrange(5))]
    shape = random.choice(
        (f"({''.join(f'{side}, ' for side in sides)})", "(24,)", "(-1,)", "5", "'a'", "(1e3,)", "(None,)")
    )
    described = random.choice(DESCRIPTIONS), random.choice(("False", "True", "2", "None")), shape
    text = "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}".format(*described)
    header = text.encode() + b"\n"
    version = random.choice((b"\x01\x00", b"\x01\x00", b"\x02\x00", b"\x03\x00", b"\x09\x00"))
    size = struct.pack("<H", len(header)) if version == b"\x01\x00" else struct.pack("<I", len(header))
    return MAGIC + version + size + header


def _odd_array(random: Random) -> bytes:
    """A valid array of another shape and type."""
    shape = random.choice(((), (0,), (1,), (2,), (24,), (0, 3), (3, 0), (24, 1), (24, 3), (2, 2, 2), (25, 3), (1, 24)))
    kind: Any = random.choice(
        ("f8", "f4", "f2", ">f8", "i1", "i8", "u8", "?", "c16", "M8[s]", "S2", "U3", "V4", "i8,f8")
    )
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    fill = random.choice((b"\0", b"\xff", b"\x7f", b"\x01", b"\0\0\0\0\0\0\xf8\x7f"))
    array = np.frombuffer((fill * (size // len(fill) + 1))[:size], dtype=kind).reshape(shape)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()
