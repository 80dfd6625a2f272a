"""A folder is locked by one process at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.exceptions import BusyError, ResourceError
from confgcn.io.locks import check_unlocked, locked_folder


def test_a_second_lock_of_a_folder_is_refused_and_its_files_stay(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("mine")
    with locked_folder(tmp_path) as notices:
        assert notices == []
        with pytest.raises(BusyError, match="in use by process"), locked_folder(tmp_path):
            pass
    with locked_folder(tmp_path) as notices:
        assert notices == []
    assert (tmp_path / "results.csv").read_text() == "mine"
    assert (tmp_path / "run.lock").read_text() == ""


def test_locking_a_folder_makes_it_and_its_parents(tmp_path: Path) -> None:
    with locked_folder(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b" / "run.lock").is_file()


def test_a_lock_left_by_a_killed_process_is_taken_over_with_a_notice(tmp_path: Path) -> None:
    (tmp_path / "run.lock").write_text("12345")
    with locked_folder(tmp_path) as notices:
        assert "12345" in notices[0]


def test_an_error_releases_the_lock(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked_folder(tmp_path):
        raise ZeroDivisionError
    with locked_folder(tmp_path) as notices:
        assert notices == []


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"x" * 10**6, "١٢".encode(), b"4711 and more"])
def test_a_lock_that_holds_no_number_was_left_by_an_unknown_process(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.lock").write_bytes(content)
    with locked_folder(tmp_path) as notices:
        (notice,) = notices
    assert "took over from process " in notice
    assert len(notice) < 200
    assert (tmp_path / "run.lock").read_bytes() == b""


def test_checking_a_lock_changes_nothing(tmp_path: Path) -> None:
    check_unlocked(tmp_path)
    assert not list(tmp_path.iterdir())
    with locked_folder(tmp_path), pytest.raises(BusyError, match="in use by process"):
        check_unlocked(tmp_path)
    check_unlocked(tmp_path)


def test_a_lock_is_not_opened_through_a_link(tmp_path: Path) -> None:
    """It would empty the target of the link."""
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(ResourceError, match="symbolic links"), locked_folder(tmp_path / "run"):
        pytest.fail("it was locked")
    assert (tmp_path / "victim").read_text() == "precious"
