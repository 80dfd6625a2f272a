"""``confgcn reproduce`` as a user runs it: files, JSON, exit codes, and nothing left behind after an error."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

import confgcn as confgcn_package
from confgcn.cli.main import main
from confgcn.cli.reproduce import CHOICES
from confgcn.io.locks import locked_folder
from reproduction.artefacts import ALL, BEYOND_PAPER, IN_PAPER
from reproduction.jobs import Job, Variant
from reproduction.measurements import Measurements
from reproduction.results import Results, RunRecord

Command = Callable[..., "subprocess.CompletedProcess[str]"]

PACKAGE = Path(confgcn_package.__file__).parent
SMALL = ("--datasets", "demo", "--methods", "label_propagation", "--seeds", "1", "--jobs", "1")


@dataclass
class CommandResult:
    """Exit code and output of a command."""

    code: int | str | None
    out: str
    err: str


@pytest.fixture
def confgcn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., CommandResult]]:
    """The command line in this process, which spares the time that torch takes to be imported."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["confgcn", *words])
        with pytest.raises(SystemExit) as raised:
            main()
        captured = capsys.readouterr()
        return CommandResult(raised.value.code, captured.out, captured.err)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_the_help_lists_every_table_and_figure() -> None:
    paper, all_of_them, beyond = ([name.strip() for name in group.split(",")] for group in CHOICES.split(";"))
    assert paper == [row.name for row in IN_PAPER]
    assert all_of_them == [f"{ALL} for these"]
    assert sorted(beyond) == sorted(row.name for row in BEYOND_PAPER)


def everything(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def with_a_run(folder: Path) -> Path:
    """A folder of results with one run in it."""
    folder.mkdir()
    job = Job("demo", Variant("Kipf-GCN", "gcn"), 0)
    quartiles = {"accuracy_by_entropy": (0.8,) * 4, "accuracy_by_degree": (0.8,) * 4}
    record = RunRecord(
        run=job.key(None),
        settings=job.settings_key,
        graph="g",
        environment="e",
        date="2026-11-16",
        dataset="demo",
        method="gcn",
        preset="tuned",
        changes="",
        seed=0,
        outcome="finished",
        measured=Measurements(test_accuracy=0.8, **quartiles),
    )
    versions = {"torch": "2", "confgcn": "0"}
    machine = {"python": "3", "versions": versions, "system": "s", "processor": "p", "cores": 1, "kernels": "pure"}
    Results(folder).add(record, {"e": machine})
    return folder


def test_a_misspelt_name_is_a_usage_error(command: Command, tmp_path: Path) -> None:
    result = command("reproduce", "tabel2")
    assert (result.returncode, result.stdout) == (2, "")
    assert "unknown table or figure 'tabel2': did you mean 'table2'?" in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("table2", "figure9"), "unknown table or figure 'figure9': did you mean 'figure"),
        (("table2", "--datasets", "demo,coar"), "unknown graph 'coar': did you mean 'cora'?"),
        (("table2", "--datasets", "demo", "--datasets", "coar"), "unknown graph 'coar': did you mean 'cora'?"),
        (("table2", "--datasets", ","), "unknown graph ''"),
        (("table2", "--datasets", "demo,"), "unknown graph ''"),
        (("table2", "--datasets", ""), "unknown graph ''"),
        (("table2", "--methods", "gnc"), "did you mean 'gcn'?"),
        (("table2", "--methods", "gcn, ,feat"), "unknown method ''"),
        (("about",), "unknown table or figure 'about'"),
        (("table2", "--seeds", "0"), "--seeds"),
        (("table2", "--jobs", "0"), "--jobs"),
        ((), "Missing argument"),
    ],
)
def test_invalid_arguments_are_named_and_nothing_is_written(
    confgcn: Callable[..., CommandResult], tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = confgcn("reproduce", *words)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_unchanged(confgcn: Callable[..., CommandResult], tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    result = confgcn("reproduce", "table2", *SMALL, "--out", "out")
    assert result.code == 2
    assert "not a directory" in result.err
    assert everything(tmp_path) == {str(tmp_path / "out"): b"mine"}


@pytest.mark.parametrize("beside", ["settings.json", "notes.md"])
def test_a_foreign_folder_is_unchanged(confgcn: Callable[..., CommandResult], tmp_path: Path, beside: str) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    (tmp_path / beside).write_text("{}")
    before = everything(tmp_path)
    result = confgcn("reproduce", "table2", *SMALL, "--out", ".")
    assert result.code == 2
    assert "holds no results; choose another --out" in result.err
    assert everything(tmp_path) == before


def test_render_only_without_numbers_is_a_usage_error(confgcn: Callable[..., CommandResult], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    result = confgcn("reproduce", "table2", "--render-only", "--out", "out")
    assert (result.code, result.out) == (2, "")
    assert "out: holds no" in result.err
    assert [path.name for path in (tmp_path / "out").iterdir() if path.name != "run.lock"] == []


def test_a_folder_in_use_is_exit_code_seven(confgcn: Callable[..., CommandResult], tmp_path: Path) -> None:
    out = with_a_run(tmp_path / "out")
    with locked_folder(out):
        before = everything(out)
        result = confgcn("reproduce", "table2", *SMALL, "--out", "out")
        assert everything(out) == before
    assert result.code == 7
    assert f"in use by process {os.getpid()}" in result.err


def test_a_table_without_runs_is_written_and_its_files_are_named(
    confgcn: Callable[..., CommandResult], tmp_path: Path
) -> None:
    result = confgcn("reproduce", "table1", "--datasets", "demo", "--out", "out")
    assert result.code == 0
    assert result.out.split() == ["out/results.md", "out/table1.md", "out/table1.tex"]
    again = confgcn("reproduce", "table1", "--datasets", "demo", "--out", "out", "--json")
    assert (again.code, again.out.count("\n")) == (0, 1)
    assert json.loads(again.out) == {"files": result.out.split(), "failures": {}}
    assert "2,708" in (tmp_path / "out" / "table1.md").read_text()


def test_render_only_uses_recorded_runs(confgcn: Callable[..., CommandResult], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = with_a_run(tmp_path / "out")
    before = (out / "results.csv").read_bytes()
    result = confgcn("reproduce", "figure2", "--datasets", "demo", "--render-only", "--out", "out")
    assert result.code == 0, result.err
    names = [Path(name).name for name in result.out.split()]
    assert names == ["results.md", "figure2.md", "figure2.tex", "figure2.svg", "figure2.png"]
    assert all((out / name).stat().st_size for name in names)
    assert (out / "results.csv").read_bytes() == before
    assert "| Kipf-GCN | 80.0 |" in (out / "figure2.md").read_text()


def test_without_matplotlib_tables_are_still_written(new_command: Command, tmp_path: Path) -> None:
    out = with_a_run(tmp_path / "out")
    (tmp_path / "fake" / "matplotlib").mkdir(parents=True)
    (tmp_path / "fake" / "matplotlib" / "__init__.py").write_text("raise ImportError('not installed')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "fake")}
    words = ("reproduce", "figure2", "table2", "--datasets", "demo", "--render-only", "--out", "out")
    result = new_command(*words, env=environment)
    assert result.returncode == 4
    assert "pip install 'confgcn[figures]'" in result.stderr
    assert "Traceback" not in result.stderr
    for name in ("results.md", "table2.md", "table2.tex", "figure2.md", "figure2.tex", "figure2.json"):
        assert (out / name).stat().st_size
    assert not list(out.glob("figure2.*g"))


def test_a_failed_run_is_named_and_decides_the_exit_code(confgcn: Callable[..., CommandResult], tmp_path: Path) -> None:
    key = Job("demo", Variant("LP", "label_propagation"), 0).key(None)
    with locked_folder(tmp_path / "out" / "runs" / f"{key}-default"):
        result = confgcn("reproduce", "table2", *SMALL, "--out", "out", "--json")
    assert result.code == 7
    answer = json.loads(result.out)
    name, reason = next(iter(answer["failures"].items()))
    assert (name, "in use by process" in reason) == ("demo label_propagation default seed 0", True)
    assert f"error: {name}: {reason}" in result.err
    assert "runs needed: 1, already recorded: 0" in result.err
    assert "| LP | – |" in (tmp_path / "out" / "table2.md").read_text()


def test_an_unreadable_data_set_is_named_and_the_rest_is_rendered(
    confgcn: Callable[..., CommandResult], tmp_path: Path
) -> None:
    with_a_run(tmp_path / "out")
    words = ("--datasets", "demo,cora", "--methods", "gcn", "--seeds", "1", "--data-dir", "nowhere")
    result = confgcn("reproduce", "table1", "table2", *words, "--out", "out", "--json")
    assert result.code == 4
    answer = json.loads(result.out)
    assert list(answer["failures"]) == ["cora", "table1"]
    assert answer["files"] == ["out/results.md", "out/table2.md", "out/table2.tex"]
    assert f"error: cora: {answer['failures']['cora']}" in result.err
    assert f"error: table1: {answer['failures']['table1']}" in result.err
    assert "runs needed: 1, already recorded: 1" in result.err
    assert "| Kipf-GCN | 80.0 | – |" in (tmp_path / "out" / "table2.md").read_text()


def test_a_corrupt_table_of_results_is_a_data_error(confgcn: Callable[..., CommandResult], tmp_path: Path) -> None:
    out = with_a_run(tmp_path / "out")
    with (out / "results.csv").open("a") as stream:
        stream.write("half a row\n")
    before = (out / "results.csv").read_bytes()
    result = confgcn("reproduce", "table2", *SMALL, "--out", "out")
    assert result.code == 3
    assert "results.csv, line 3" in result.err
    assert (out / "results.csv").read_bytes() == before


def test_without_a_checkout_the_error_says_what_to_do(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "site" / "confgcn", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    words = [sys.executable, "-m", "confgcn", "reproduce", "table1", "--datasets", "demo", "--out", "out"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200)
    assert (done.returncode, done.stdout) == (2, "")
    assert "works only in a checkout of the repository" in done.stderr
    assert str(tmp_path / "site" / "confgcn") in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_in_a_checkout_it_works_from_any_directory(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    start = f"import sys; sys.path.append({str(PACKAGE.parent)!r}); from confgcn.__main__ import run; run()"
    words = [sys.executable, "-P", "-c", start, "reproduce", "table1", "--datasets", "demo", "--out", "out"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["out/results.md", "out/table1.md", "out/table1.tex"]


def test_the_installed_package_holds_no_experiment_of_the_paper() -> None:
    settings = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["tool"]["setuptools"]
    find = settings["packages"]["find"]
    assert (find["include"], find.get("exclude", [])) == (["confgcn*"], [])
    folders = [path.name for path in PACKAGE.parent.iterdir() if path.is_dir() and not path.name.endswith(".egg-info")]
    assert [name for name in folders if any(fnmatch(name, pattern) for pattern in find["include"])] == ["confgcn"]
    patterns = [pattern for patterns in settings["package-data"].values() for pattern in patterns]
    files = {file.relative_to(PACKAGE) for pattern in patterns for file in PACKAGE.glob(pattern)}
    assert not [file for file in files if "results" in file.name or file.suffix == ".csv"]
