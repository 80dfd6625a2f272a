"""Who may write into a run directory, and what is never overwritten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from confgcn.exceptions import BusyError, CorruptFileError, ResourceError, UsageError
from confgcn.io.json_files import read_json
from confgcn.io.locks import locked_folder
from confgcn.runs.directory import RunDirectory, claimed, free_directory


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    directory = RunDirectory(tmp_path / "run")
    directory.start({"a": 1})
    return directory


def test_a_directory_that_holds_a_run_is_refused(run: RunDirectory) -> None:
    with pytest.raises(UsageError, match="already holds a run"), claimed(run.path, if_exists="refuse"):
        pass
    assert read_json(run.config)["a"] == 1


def test_a_directory_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    for how in ("refuse", "overwrite", "resume"):
        with pytest.raises(UsageError, match="holds no run"), claimed(tmp_path, if_exists=how):
            pass
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_overwriting_removes_the_run_and_nothing_else(run: RunDirectory) -> None:
    mine = ("notes.txt", "model.notes", "draft.tmp")
    for name in mine:
        (run.path / name).write_text("mine")
    run.metrics.write_text("{}")
    RunDirectory(run.path / "seed-3").start({})
    with claimed(run.path, if_exists="overwrite"):
        pass
    assert sorted(entry.name for entry in run.path.iterdir()) == sorted([*mine, "run.lock"])


def test_overwriting_follows_no_link_and_touches_no_folder_of_somebody_else(run: RunDirectory, tmp_path: Path) -> None:
    elsewhere = RunDirectory(tmp_path / "elsewhere")
    elsewhere.start({})
    (run.path / "seed-7").symlink_to(elsewhere.path)
    (run.path / "seed-data" / "checkpoints").mkdir(parents=True)
    (run.path / "seed-data" / "metrics.json").write_text("mine")
    (run.path / "seed-list.txt").write_text("mine")
    run.checkpoints.mkdir()
    (run.checkpoints / "mine.bin").write_text("mine")
    with claimed(run.path, if_exists="overwrite"):
        pass
    assert elsewhere.holds_run
    assert (run.path / "seed-data" / "metrics.json").read_text() == "mine"
    assert (run.path / "seed-list.txt").read_text() == "mine"
    assert (run.checkpoints / "mine.bin").read_text() == "mine"
    assert not run.holds_run


def test_a_config_of_somebody_else_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"theirs": true}')
    with pytest.raises(UsageError, match="holds no run"), claimed(tmp_path, if_exists="overwrite"):
        pass
    assert (tmp_path / "config.json").read_text() == '{"theirs": true}'


def test_a_file_in_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="not a directory"), claimed(tmp_path / "file", if_exists="refuse"):
        pass


def test_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to resume"), claimed(tmp_path / "none", if_exists="resume"):
        pass
    assert not (tmp_path / "none").exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResourceError, match="cannot write"), claimed(tmp_path / "file" / "run", if_exists="refuse"):
        pass


def test_a_second_process_is_turned_away(run: RunDirectory) -> None:
    with claimed(run.path, if_exists="resume"):
        code = (
            "import sys, pathlib\n"
            "from confgcn.runs.directory import claimed\n"
            "from confgcn.exceptions import BusyError\n"
            "try:\n"
            "    with claimed(pathlib.Path(sys.argv[1]), if_exists=sys.argv[2]): pass\n"
            "except BusyError as error: sys.exit(error.exit_code)\n"
        )
        for how in ("refuse", "resume", "overwrite"):
            second = subprocess.run([sys.executable, "-c", code, str(run.path), how])
            assert second.returncode == BusyError.exit_code
    with claimed(run.path, if_exists="resume") as notices:
        assert notices == []


def test_the_lock_of_a_killed_process_is_taken_over_with_a_notice(run: RunDirectory) -> None:
    (run.path / "run.lock").write_text("12345")
    with claimed(run.path, if_exists="resume") as notices:
        assert "12345" in notices[0]


def test_resuming_with_other_settings_names_them_and_no_others(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.start({"model": {"dropout": 0.1, "gamma": 1.0}})
    with pytest.raises(UsageError, match=r"\(model\.dropout: 0\.1 there, 0\.2 now\)"):
        run.start({"model": {"dropout": 0.2, "gamma": 1.0}})


def test_left_over_temporary_files_are_removed(run: RunDirectory) -> None:
    run.checkpoints.mkdir()
    (run.checkpoints / "epoch-0000001.json.tmp").write_text("half")
    run.start({"a": 1})
    assert list(run.checkpoints.iterdir()) == []


def test_a_damaged_config_is_refused(run: RunDirectory) -> None:
    run.config.write_text('{"a": ')
    with pytest.raises(CorruptFileError, match=r"config\.json"):
        run.start({"a": 1})


def test_free_directory_counts_up(tmp_path: Path) -> None:
    assert free_directory(tmp_path / "runs", "x").name == "x"
    (tmp_path / "runs" / "x-2").write_text("in the way")
    assert free_directory(tmp_path / "runs", "x").name == "x-3"
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["x", "x-2", "x-3"]


def test_a_folder_of_a_process_that_was_killed_before_it_recorded_anything_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "config.json.tmp").write_text('{"half')
    with claimed(tmp_path, if_exists="refuse"):
        RunDirectory(tmp_path).start({"a": 1})
    assert not (tmp_path / "config.json.tmp").exists()


def test_a_lock_is_not_opened_through_a_link(tmp_path: Path) -> None:
    """It would empty what the link leads to."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.lock").symlink_to(victim)
    for use in (locked_folder(tmp_path / "run"), claimed(tmp_path / "run", if_exists="refuse")):
        with pytest.raises(OSError, match="symbolic links"), use:
            pytest.fail("it was held")
    assert victim.read_text() == "precious"


def test_of_many_settings_that_differ_some_are_said(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.start({f"{'k' * 900}{number}": "v" * 900 for number in range(50)})
    with pytest.raises(UsageError, match=r"cannot resume with other settings \(.*; 50 in all\)") as raised:
        directory.start({})
    assert len(str(raised.value)) < 1000
