"""The commands as a user runs them: output, JSON, exit codes, and nothing left behind after an error."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from confgcn import __version__

Command = Callable[..., "subprocess.CompletedProcess[str]"]

QUICK = ("train", "demo", "--epochs", "3")


def test_version(command: Command) -> None:
    assert command("--version").stdout == f"confgcn {__version__}\n"


def test_help_is_quick_and_does_not_import_torch() -> None:
    code = "import sys; sys.argv = ['confgcn', '--help']\nfrom confgcn.cli.main import main\n"
    code += "try: main()\nexcept SystemExit: sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0  # seconds; torch alone takes two


def test_training_imports_no_library_that_it_does_not_need(tmp_path: Path) -> None:
    """Scikit-learn takes as long to import as torch, pandas half a second."""
    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\nc,d\nd,a\n")
    (tmp_path / "nodes.csv").write_text("id,label,split,width\na,p,train,1\nb,q,train,2\nc,p,validation,1.5\nd,,,\n")
    words = ["train", "--edges", "edges.csv", "--nodes", "nodes.csv", "--impute", "--epochs", "2", "--out", "run"]
    code = f"import sys; sys.argv = ['confgcn', *{words!r}]\n"
    code += "from confgcn.cli.main import main\ntry: main()\nexcept SystemExit as ended: assert not ended.code\n"
    code += "found = {'sklearn', 'pandas', 'matplotlib', 'optuna', 'jinja2', 'pooch'} & set(sys.modules)\n"
    code += "sys.exit(f'imported {found}' if found else 0)"
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def test_train_prints_one_json_object_and_nothing_else(new_command: Command, tmp_path: Path) -> None:
    result = new_command(*QUICK, "--seeds", "2", "--json", "--out", "here")
    assert result.returncode == 0
    summary = json.loads(result.stdout)
    assert result.stdout.count("\n") == 1
    expected = {"test_accuracy", "test_accuracy_std", "validation_accuracy", "seconds", "seeds", "preset", "method"}
    assert expected | {"dataset", "run_dir"} <= summary.keys()
    assert 0 <= summary["test_accuracy"] <= 1
    assert (summary["seeds"], summary["preset"], summary["method"]) == (2, "consensus", "confgcn")
    assert (tmp_path / summary["run_dir"] / "seed-1" / "predictions.csv").is_file()


def test_train_tells_people_how_far_to_trust_it(command: Command, tmp_path: Path) -> None:
    result = command(*QUICK, "--preset", "released")
    assert result.returncode == 0
    for words in ("Test accuracy", "most confident", "by learned precision", "Next:", "runs/demo-confgcn"):
        assert words in result.stdout
    assert "using those of cora_ml" in result.stderr
    assert (tmp_path / "runs" / "demo-confgcn-released" / "metrics.json").is_file()


def test_uniform_influence_is_an_option(command: Command, tmp_path: Path) -> None:
    assert command(*QUICK, "--influence", "uniform", "--out", "u").returncode == 0
    assert json.loads((tmp_path / "u" / "config.json").read_text())["model"]["influence"] == "uniform"


def test_targets_are_stored_with_the_run_and_can_be_changed_later(command: Command, tmp_path: Path) -> None:
    targets = ("--coverage", "0.8", "--max-error", "0.3", "--delta", "0.2")
    assert command(*QUICK, *targets, "--out", "t").returncode == 0
    asked = {"coverage": 0.8, "max_error": 0.3, "delta": 0.2}
    assert json.loads((tmp_path / "t" / "config.json").read_text())["targets"] == asked
    (decision,) = json.loads((tmp_path / "t" / "metrics.json").read_text())["decisions"]
    assert (decision["max_error"], decision["delta"]) == (0.3, 0.2)
    found = json.loads(command("evaluate", "t", "--coverage", "0.5", "--json").stdout)
    assert (found["coverage"], found["max_error"], found["delta"]) == (0.5, 0.3, 0.2)
    assert 0.3 < found["set_coverage"] < 0.8
    written = json.loads(command("predict", "t", "--max-error", "0.4", "--out", "p.csv", "--json").stdout)
    assert [record["max_error"] for record in written["decisions"]] == [0.4]
    wrong = command("predict", "t", "--coverage", "1.5", "--out", "q.csv")
    assert (wrong.returncode, "coverage = 1.5" in wrong.stderr) == (2, True)


def test_settings_come_from_a_file_then_set_then_options(command: Command, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("epochs = 9\ndropout = 0.1\ngamma = 2.0")
    words = ("--settings", "mine.toml", "--set", "dropout=0.2", "--set", "select=last", "--out", "s")
    assert command(*QUICK, *words).returncode == 0
    config = json.loads((tmp_path / "s" / "config.json").read_text())
    assert (config["recipe"]["epochs"], config["recipe"]["select"]) == (3, "last")
    assert (config["model"]["dropout"], config["model"]["gamma"]) == (0.2, 2.0)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("train", "coar"), 2, "did you mean 'cora'"),
        (("train", "demo", "--method", "gnc"), 2, "did you mean 'gcn'"),
        (("train", "demo", "--preset", "papers"), 2, "did you mean 'paper'"),
        (("train", "demo", "--sed", "1"), 2, "--seed"),
        (("trian", "demo"), 2, "train"),
        (("train", "demo", "--epochs", "0"), 2, "epochs = 0"),
        (("train", "demo", "--epochs", "many"), 2, "epochs"),
        (("train", "demo", "--seed", "-1"), 2, "seed"),
        (("train", "demo", "--seed", str(2**64)), 2, "seed"),
        (("train", "demo", "--seed", "x"), 2, "seed"),
        (("train", "demo", "--seeds", "0"), 2, "seeds"),
        (("train", "demo", "--set", "dropout=1.0"), 2, "less than 1"),
        (("train", "demo", "--set", "dropout"), 2, "NAME=VALUE"),
        (("train", "demo", "--set", "learning_rate=nan"), 2, "learning_rate"),
        (("train", "demo", "--set", "learnin_rate=1"), 2, "did you mean 'learning_rate'"),
        (("train", "demo", "--set", "influence=$(touch x)"), 2, "influence"),
        (("train", "demo", "--settings", "none.toml"), 4, "none.toml"),
        (("train", "demo", "--resume"), 2, "--out"),
        (("train", "demo", "--resume", "--out", "nothing"), 2, "nothing to resume"),
        (("train", "demo", "--resume", "--overwrite", "--out", "x"), 2, "contradict"),
        (("train", "cora", "--data-dir", "nowhere"), 4, "nowhere"),
        (("inspect", "coar"), 2, "did you mean 'cora'"),
    ],
)
def test_an_error_has_its_code_names_its_cause_and_leaves_nothing(
    command: Command,
    tmp_path: Path,
    words: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    result = command(*words)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_unknown_kernels_are_refused_before_anything_is_written(new_command: Command, tmp_path: Path) -> None:
    result = new_command(*QUICK, env={**os.environ, "CONFGCN_KERNELS": "fast"})
    assert (result.returncode, result.stdout) == (2, "")
    assert "CONFGCN_KERNELS 'fast': choose from compiled, pure" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_settings_file_is_parsed_as_data(command: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("!!python/object/apply:os.system ['touch canary']")
    result = command("train", "demo", "--settings", "bad.toml")
    assert result.returncode == 2
    assert "bad.toml: not a TOML file" in result.stderr
    assert not (tmp_path / "canary").exists()


def test_debug_shows_the_traceback_and_exits_like_the_command_without(command: Command) -> None:
    result = command("--debug", "train", "coar")
    assert "Traceback" in result.stderr
    assert result.returncode == command("train", "coar").returncode == 2


def test_control_codes_never_reach_the_terminal(command: Command) -> None:
    assert "\x1b" not in command("train", "\x1b[2Jcora").stderr


def test_divergence_is_exit_code_five(command: Command, tmp_path: Path) -> None:
    settings = ("--preset", "released", "--set", "learning_rate=1e6", "--set", "doubled_l2=1e6")
    result = command(*QUICK, *settings, "--out", "run")
    assert result.returncode == 5
    assert "not finite" in result.stderr
    assert not (tmp_path / "run" / "predictions.csv").exists()


def test_a_run_is_overwritten_only_on_request(command: Command, tmp_path: Path) -> None:
    assert command(*QUICK, "--out", "run").returncode == 0
    before = (tmp_path / "run" / "metrics.json").read_bytes()
    refused = command(*QUICK, "--seed", "1", "--out", "run")
    assert (refused.returncode, "already holds a run" in refused.stderr) == (2, True)
    assert (tmp_path / "run" / "metrics.json").read_bytes() == before
    assert command(*QUICK, "--seed", "1", "--out", "run", "--overwrite").returncode == 0
    assert json.loads((tmp_path / "run" / "metrics.json").read_text())["seed"] == 1


# The process is killed when it has saved the fourth epoch.
KILLED = """
import os, signal
from confgcn.training.checkpoint import Checkpointer
Checkpointer.__init__.__kwdefaults__["seconds_between"] = 0.0
on_epoch = Checkpointer.on_epoch
def kill(self, loop):
    on_epoch(self, loop)
    if len(loop.history) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
Checkpointer.on_epoch = kill
"""


def test_a_killed_training_is_resumed_and_its_run_can_be_used(
    command: Command, start_command: Callable[..., Any], tmp_path: Path
) -> None:
    words = ("train", "demo", "--epochs", "8", "--out")
    assert command(*words, "undisturbed").returncode == 0
    assert start_command(*words, "run", folder=tmp_path, before=KILLED).wait().code == -signal.SIGKILL
    assert not (tmp_path / "run" / "predictions.csv").exists()
    assert command(*words, "run", "--resume").returncode == 0
    tables = [(tmp_path / run / "predictions.csv").read_bytes() for run in ("run", "undisturbed")]
    assert tables[0] == tables[1]
    assert command("predict", "run", "--out", "rows.csv").returncode == 0
    assert (tmp_path / "rows.csv").read_bytes() == tables[0]
    assert command("report", "run").returncode == 0
    assert (tmp_path / "run" / "report.html").stat().st_size > 100_000


def test_inspect_prints_table_one_and_json(command: Command) -> None:
    people = command("inspect", "demo").stdout
    assert "5,278" in people
    assert "label mismatch" in people
    statistics = json.loads(command("inspect", "demo", "--json").stdout)
    assert (statistics["nodes"], statistics["edges"]["unique"], statistics["classes"]) == (2708, 5278, 7)


def test_methods_lists_each_with_its_paper_and_what_it_uses(command: Command) -> None:
    listed = json.loads(command("methods", "--json").stdout)
    assert len(listed) == 13
    assert listed["taco"]["uses"] == ["graph", "confidences"]
    assert all(entry["summary"] and entry["paper"] for entry in listed.values())
    shown = command("methods").stdout
    assert "label_propagation" in shown
    assert "Zhu, Ghahramani, Lafferty, ICML 2003" in shown


def test_datasets_lists_all_five_and_where_they_are(command: Command, tmp_path: Path) -> None:
    nowhere = {"HOME": str(tmp_path), "PATH": "", "XDG_CACHE_HOME": str(tmp_path)}
    listed = json.loads(command("datasets", "--json", env=nowhere).stdout)
    assert set(listed) == {"citeseer", "cora", "cora_ml", "demo", "pubmed"}
    assert listed["demo"]["found"] == "inside the package"
    assert listed["cora"]["found"] is None
    assert "not found; downloaded on first use" in command("datasets", env=nowhere).stdout


def test_doctor_is_content(command: Command) -> None:
    result = command("doctor", "--json")
    assert result.returncode == 0
    assert json.loads(result.stdout)["healthy"] is True
    assert "training step" in command("doctor").stdout


@pytest.mark.real_data
def test_a_malicious_or_altered_benchmark_file_is_refused(command: Command, data_dir: Path, tmp_path: Path) -> None:
    shutil.copytree(data_dir / "Cora", tmp_path / "data" / "Cora")
    (tmp_path / "data" / "Cora" / "raw" / "ind.cora.x").write_bytes(b"cos\nsystem\n(S'touch canary'\ntR.")
    result = command("train", "cora", "--data-dir", "data")
    assert result.returncode == 6
    assert "ind.cora.x: refused the global os.system" in result.stderr
    assert not (tmp_path / "canary").exists()
    shutil.copy(data_dir / "Cora" / "raw" / "ind.cora.y", tmp_path / "data" / "Cora" / "raw" / "ind.cora.x")
    assert command("train", "cora", "--data-dir", "data").returncode == 3


@pytest.mark.real_data
def test_inspect_counts_cora_as_table_one_does(command: Command, data_dir: Path) -> None:
    statistics = json.loads(command("inspect", "cora", "--json", "--data-dir", data_dir).stdout)
    assert (statistics["nodes"], statistics["listed_halved"], statistics["features"]) == (2708, 5429, 1433)
