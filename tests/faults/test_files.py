"""Files that are missing, unreadable, compressed, truncated, of another kind, or change while they are read."""

from __future__ import annotations

import bz2
import ctypes
import gzip
import io
import lzma
import os
import socket
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Tables

PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
# A process of root's may read whatever it likes, unless it gives its capabilities away.
LIKE_ANYBODY = """
import ctypes, struct
assert ctypes.CDLL(None).capset(struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[0] * 6)) == 0
"""
# Another program writes to a file just after it was read.
CHANGING = """
import os
from pathlib import Path
from confgcn.data.formats import delimited

def read(path, read_content=delimited.read_content):
    content = read_content(path)
    if path == Path("edges.csv"):
        {change}
    return content

delimited.read_content = read
"""


UNREADABLE = Path("/proc/self/mem")


def zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(zipfile.ZipInfo("edges.csv"), content)  # of a fixed date
    return stream.getvalue()


@pytest.mark.fault("G01")
@pytest.mark.parametrize(
    "words",
    [
        ("train", "--out", "run", "--nodes", "nodes.csv", "--edges", "no/links.csv"),
        ("train", "--out", "run", "--edges", "edges.csv", "--nodes", "people.csv"),
        ("train", "--out", "run", "--edges", "edges.csv", "--nodes", "nodes.csv", "--features", "more.npy"),
        ("train", "--out", "run", "no/such/folder"),
        ("train", "--out", "run", "graph.npz"),
        ("train", "--out", "run", "graph.graphml"),
        ("inspect", "--nodes", "nodes.csv", "--edges", "nodes.csv/edges.csv"),
        ("inspect", "--nodes", "nodes.csv", "--edges", "dangling.csv"),
        ("inspect", "--nodes", "nodes.csv", "--edges", "circle.csv"),
        ("convert", "--out", "copy.npz", "--edges", "circle.csv"),
        ("convert", "--out", "copy.npz", "no/such/folder"),
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_a_missing_file_is_named_by_its_whole_path(tables: Tables, words: tuple[str, ...]) -> None:
    (tables.folder / "dangling.csv").symlink_to("gone.csv")
    (tables.folder / "circle.csv").symlink_to("circle.csv")
    tables.refuses(*words, code=4, naming=[str(tables.folder / words[-1])])


@pytest.mark.fault("G03")
@pytest.mark.parametrize(
    "name", ["edges.csv", "nodes.csv", "features.npy", "graph.npz", "graph.graphml", "settings.toml", "config.toml"]
)
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "capset"), reason="there is no way here for root to be anybody")
def test_a_file_that_may_not_be_read_is_named(tables: Tables, name: str) -> None:
    path = tables.folder / name
    path.touch()
    path.chmod(0)
    option = (f"--{path.stem}", name) if path.suffix in (".npy", ".toml") else ()
    words = (name,) if name.startswith("graph") else (*tables.words, *option)
    ended = tables.run("train", *words, "--out", "run", before=LIKE_ANYBODY)
    path.chmod(0o600)
    assert ended.code == 4
    assert ended.errors == f"error: {path}: Permission denied\n"
    assert not (tables.folder / "run").exists()


@pytest.mark.fault("G12")
@pytest.mark.parametrize(
    ("packer", "name"),
    [
        *(("gz", "edges.csv.gz"), ("gz", "edges.csv"), ("bz2", "edges.csv.bz2"), ("bz2", "EDGES.CSV.GZ")),
        *(("xz", "edges.csv.xz"), ("xz", "edges.csv.zip")),
    ],
)
def test_compressed_files_are_recognised_by_their_first_bytes(
    tables: Tables, plain: tuple[bytes, str], packer: str, name: str
) -> None:
    (tables.folder / "edges.csv").unlink()
    tables.write(name, PACKERS[packer](tables.edges.encode()))
    tables.accepts("train", "--edges", name, *tables.words[2:], "--epochs", 3, "--out", "run")
    assert tables.result() == plain


@pytest.mark.fault("G12")
@pytest.mark.parametrize(
    ("pack", "problem"),
    [
        (zipped, "edges.csv, line 1: not UTF-8 text"),
        (lambda content: gzip.compress(gzip.compress(content)), "edges.csv, line 1: not UTF-8 text"),
        (lambda content: b"\x28\xb5\x2f\xfd\x04\x00" + content, "edges.csv, line 1: not UTF-8 text"),
        (lambda content: gzip.compress(content) + b"rest", "edges.csv: the compressed file is damaged"),
        (lambda content: bz2.compress(content) + b"rest", "edges.csv: the compressed file is damaged"),
        (lambda content: lzma.compress(content)[:-4] + b"rest", "edges.csv: the compressed file is damaged"),
        (
            lambda content: gzip.compress(content + b"a,b\n" * 2**25, 1),
            "unpacks to more than 67,108,864 bytes",
        ),
    ],
    ids=["zip", "gz twice", "zstd", "gz and more", "bz2 and more", "xz altered", "bomb"],
)
def test_other_compressed_files_are_never_read_as_text(
    tables: Tables, pack: Callable[[bytes], bytes], problem: str
) -> None:
    tables.write("edges.csv", pack(tables.edges.encode()))
    tables.refuses_to_train(naming=[problem])


@pytest.mark.fault("G13")
@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("share", [0.08, 0.5, 1.0])
def test_a_truncated_file_gives_no_part_of_a_graph(tables: Tables, packer: str, share: float) -> None:
    packed = PACKERS[packer](tables.edges.encode() * 500)
    name = f"edges.csv.{packer}"
    tables.write(name, packed[: int(share * len(packed)) - 1])
    words = ("--edges", name, *tables.words[2:], "--out", "run")
    tables.refuses("train", *words, code=3, naming=[f"{name}: the compressed file is truncated"])


@pytest.mark.fault("G13")
@pytest.mark.parametrize(("packer", "length"), [("gz", 2), ("gz", 9), ("bz2", 4), ("bz2", 9), ("xz", 7)])
def test_the_first_bytes_of_a_compressed_file_are_not_read_as_text(tables: Tables, packer: str, length: int) -> None:
    tables.write("edges.csv", PACKERS[packer](tables.edges.encode())[:length])
    tables.refuses_to_train(naming=["edges.csv: the compressed file is truncated"])


@pytest.mark.fault("G19")
@pytest.mark.parametrize(
    "change",
    [
        'path.write_bytes(content + b"h,a\\n")',
        'Path("nodes.csv").write_bytes(b"id,label,width\\n")',
        "path.write_bytes(content[:20])",
        'path.with_name("new").write_bytes(content); os.replace("new", path)',
    ],
    ids=["appended", "the other file", "truncated", "replaced"],
)
def test_a_file_that_changes_while_it_is_read_gives_no_graph(tables: Tables, change: str) -> None:
    ended = tables.run("train", *tables.words, "--out", "run", before=CHANGING.format(change=change))
    assert ended.code == 4
    name = "nodes.csv" if "nodes" in change else "edges.csv"
    assert f"{tables.folder / name}: changed while it was read" in ended.errors
    assert not (tables.folder / "run").exists()


@pytest.mark.fault("G19")
def test_a_file_that_is_removed_while_it_is_read_gives_no_graph(tables: Tables) -> None:
    ended = tables.run("train", *tables.words, "--out", "run", before=CHANGING.format(change="path.unlink()"))
    assert ended.code == 4
    assert str(tables.folder / "edges.csv") in ended.errors
    assert not (tables.folder / "run").exists()


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket may not be long
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


READ_AS = {
    "nodes": ("--edges", "edges.csv", "--nodes", "odd"),
    "features": ("--edges", "edges.csv", "--nodes", "nodes.csv", "--features", "odd"),
    "edges": ("--edges", "odd", "--nodes", "nodes.csv"),
    "npz": ("odd.npz",),
    "graphml": ("odd.graphml",),
}
KINDS: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a socket": make_socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.fault("G01")
@pytest.mark.parametrize(
    ("place", "kind"),
    [
        *(
            (place, kind)
            for place in ("edges", "nodes", "features", "npz", "graphml")
            for kind in ("a folder", "a pipe")
        ),
        *(("edges", "a socket"), ("features", "a device")),
    ],
)
def test_pipes_and_devices_are_refused_without_waiting(tables: Tables, place: str, kind: str) -> None:
    words = READ_AS[place]
    name = next(word for word in words if word.startswith("odd"))
    KINDS[kind](tables.folder / name)
    if kind == "a folder" and place not in ("nodes", "features"):  # which may hold a graph, or should be named without
        naming = ["odd", "name the file in it"] if place == "edges" else [name, "found nothing; expected edges.csv"]
        tables.refuses("inspect", *words, code=2 if place == "edges" else 3, naming=naming)
        return
    naming = [str(tables.folder / name), f"expected a file, found {kind}"]
    tables.refuses("inspect", *words, code=4, naming=naming)


@pytest.mark.parametrize("option", [(), ("--edges",)])
@pytest.mark.fault("G01")
def test_a_path_that_a_shell_left_empty_is_not_the_folder(tables: Tables, option: tuple[str, ...]) -> None:
    naming = ["--edges .: a folder" if option else "no graph"]
    tables.refuses("inspect", *option, "", code=2, naming=naming)


@pytest.mark.fault("G01")
@pytest.mark.parametrize("place", ["edges", "nodes", "features"])
@pytest.mark.skipif(not UNREADABLE.is_file(), reason=f"there is no {UNREADABLE}, which fails to be read")
def test_a_read_error_of_the_disk_names_the_file(tables: Tables, place: str) -> None:
    words = [str(UNREADABLE) if word == "odd" else word for word in READ_AS[place]]
    tables.refuses("inspect", *words, code=4, naming=[f"error: {UNREADABLE}: Input/output error"])


@pytest.mark.fault("G01")
def test_a_name_too_long_for_any_file_does_not_fill_the_screen(tables: Tables) -> None:
    tables.refuses("inspect", "--edges", "x" * 5000, code=4, naming=[str(tables.folder), "File name too long"])


@pytest.mark.fault("G05")
@pytest.mark.parametrize(
    "content",
    [
        "<!DOCTYPE html>\n<html><body>404, not found</body></html>\n",
        '{"source": "a", "target": "b"}\n',
        "graph [\n node [ id 1 ]\n]\n",
        "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n",
        "# FromNodeId\tToNodeId\n0\t1\n",
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        "a" * 20_000,
        "a," * 20_000 + "b\n",
    ],
    ids=["HTML", "JSON", "GML", "MTX", "SNAP", "LFS", "one word", "one row"],
)
def test_text_of_another_format_is_no_table_of_edges(tables: Tables, content: str) -> None:
    tables.write("edges.csv", content)
    tables.refuses_to_train(naming=["edges.csv"])


@pytest.mark.fault("G12")
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("source,target\na,b\n".encode("utf-16"), "line 1: not UTF-8 text"),
        ("source,target\na,b\n".encode("utf-16-le"), "line 1: not text, it holds the byte NUL"),
        ("source,target\na,b\na,ä\n".encode("latin-1"), "line 3: not UTF-8 text"),
        (b"source,target\na,b\na,\xed\xa0\x80\n", "line 3: not UTF-8 text"),
        (b"source,target\na,b\na,\0\n", "line 3: not text, it holds the byte NUL"),
        (b"\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00}\x94.", "line 1: not UTF-8 text"),
        (b"PAR1" + bytes(100), "not a readable Parquet file"),
        (b"source,target\na," + b"x" * 200_000 + b"\n", "line 2: not a CSV record (field larger than field limit"),
    ],
    ids=["UTF-16", "UTF-16 without BOM", "Latin-1", "a surrogate", "NUL", "pickle", "Parquet's name", "a long field"],
)
def test_bytes_that_are_no_text_are_named_by_their_line(tables: Tables, content: bytes, problem: str) -> None:
    tables.write("edges.csv", content)
    tables.refuses_to_train(naming=["edges.csv", problem])
