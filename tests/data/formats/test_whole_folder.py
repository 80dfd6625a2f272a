"""A folder that is there when it is whole, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.data.formats.whole_folder import whole_folder


def test_it_comes_when_all_is_written(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "new" / "folder") as folder:
        (folder / "file").write_text("x")
        assert not (tmp_path / "new" / "folder").exists()
    assert (tmp_path / "new" / "folder" / "file").read_text() == "x"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["folder"]


def test_an_error_leaves_nothing_and_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "file").write_text("before")
    with pytest.raises(FileNotFoundError), whole_folder(tmp_path / "old") as folder:
        (folder / "folder" / "file").write_text("after")
    assert (tmp_path / "old" / "file").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_an_old_one_is_replaced(tmp_path: Path) -> None:
    for text in ("before", "after"):
        with whole_folder(tmp_path / "folder") as folder:
            (folder / "file").write_text(text)
    assert (tmp_path / "folder" / "file").read_text() == "after"
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
