"""What a graph is read from is a file, one state of it, and named in every error."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from confgcn.data.input_files import is_machine_error, naming, unchanged
from confgcn.exceptions import ConfGCNError, CorruptFileError, DataError, ResourceError, UsageError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "edges.csv"
    path.write_text("source,target\na,b\n")
    return path


def replaced(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(file.read_bytes())
    os.utime(other, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    other.replace(file)


def touched(file: Path) -> None:
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))


@pytest.mark.parametrize(
    "change", [lambda file: file.write_text("longer " * 9), replaced, touched], ids=["size", "file", "time"]
)
def test_a_file_that_changes_while_it_is_read_is_refused(file: Path, change: Callable[[Path], object]) -> None:
    with pytest.raises(ResourceError, match=r"/edges\.csv: changed while it was read"), unchanged([file]):
        change(file)


def test_a_change_explains_any_other_error(file: Path) -> None:
    def half_read() -> None:
        touched(file)
        raise DataError("edges.csv, line 2: half a line")

    with pytest.raises(ResourceError, match="changed while"), unchanged([file]):
        half_read()


def test_files_that_stay_as_they_are_may_be_read_and_errors_go_on(file: Path) -> None:
    with unchanged([file, file]):
        assert file.read_text()
    with pytest.raises(DataError, match="as it was"), unchanged([file]):
        raise DataError("as it was")


def as_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (Path.mkdir, "a folder"),
        (os.mkfifo, "a pipe"),
        (as_socket, "a socket"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
    ],
    ids=["folder", "pipe", "socket", "device"],
)
def test_what_could_wait_or_last_for_ever_is_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], kind: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket may not be long
    make(Path("edges.csv"))
    with (
        pytest.raises(ResourceError, match=rf"/edges\.csv: expected a file, found {kind}; "),
        unchanged([Path("edges.csv")]),
    ):
        pytest.fail("it would have been read")


def test_names_that_no_file_can_have_are_refused_and_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the character NUL"), unchanged([tmp_path / "a\0b"]):
        pass
    with pytest.raises(ResourceError, match="not UTF-8 text"), unchanged([tmp_path / os.fsdecode(b"\xff")]):
        pass
    with pytest.raises(FileNotFoundError), unchanged([tmp_path / "none.csv"]):
        pass


@pytest.mark.parametrize("kind", [DataError, CorruptFileError, UsageError])
def test_an_error_says_which_file_it_is_about_once(kind: type[ConfGCNError]) -> None:
    with pytest.raises(kind, match=r"^x\.npz: labels: too many$") as raised, naming(Path("x.npz")):
        raise kind("labels: too many")
    assert type(raised.value) is kind
    with pytest.raises(kind, match=r"^in x\.npz$"), naming(Path("x.npz")):
        raise kind("in x.npz")


def test_an_error_of_the_system_gets_the_file_it_lacks() -> None:
    with pytest.raises(OSError, match=r"Input/output error: 'x\.npz'") as raised, naming(Path("x.npz")):
        raise OSError(errno.EIO, "Input/output error")
    assert raised.value.filename == "x.npz"
    for error in (OSError(errno.EIO, "no", "y.npz"), OSError("without a number"), ResourceError("ours"), KeyError("x")):
        with pytest.raises(type(error)) as raised, naming(Path("x.npz")):
            raise error
        assert raised.value is error


def test_what_the_machine_lacks_is_no_fault_of_a_file() -> None:
    assert is_machine_error(MemoryError())
    assert is_machine_error(OSError(errno.EMFILE, "too many open files"))
    assert not is_machine_error(OSError(errno.EINVAL, "invalid"))
    assert not is_machine_error(ValueError("x"))
