"""Existing files are not replaced by accident."""

from __future__ import annotations

from pathlib import Path

import pytest

from confgcn.data.formats.format import check_free
from confgcn.exceptions import UsageError


def test_a_new_path_and_an_empty_folder_are_free(tmp_path: Path) -> None:
    check_free(tmp_path / "new.npz", overwrite=False)
    check_free(tmp_path, overwrite=False)


def test_an_existing_file_needs_overwrite(tmp_path: Path) -> None:
    file = tmp_path / "graph.npz"
    file.touch()
    with pytest.raises(UsageError, match=r"graph\.npz exists already; give another name, or --overwrite"):
        check_free(file, overwrite=False)
    check_free(file, overwrite=True)


def test_a_folder_that_is_not_empty_needs_overwrite(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").touch()
    with pytest.raises(UsageError, match="exists already"):
        check_free(tmp_path, overwrite=False)
    check_free(tmp_path, overwrite=True)
