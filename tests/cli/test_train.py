"""``confgcn train``: output, options, errors, and runs that are overwritten, killed and resumed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]


QUICK = ("train", "demo", "--epochs", "3")
WriteTable = Callable[[Path, list[str], list[Any]], None]
ReadTable = Callable[[Path], list[dict[str, str]]]


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
    assert (summary["seeds"], summary["preset"], summary["method"]) == (2, "propagated", "confgcn")
    assert (tmp_path / summary["run_dir"] / "seed-1" / "predictions.csv").is_file()


def test_train_prints_a_summary_for_people(command: Command, tmp_path: Path) -> None:
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
    (tmp_path / "mine.toml").write_text("epochs = 9\ndropout = 0.1\nsharpening = 2.0")
    words = ("--settings", "mine.toml", "--set", "dropout=0.2", "--set", "select=last", "--out", "s")
    assert command(*QUICK, *words).returncode == 0
    config = json.loads((tmp_path / "s" / "config.json").read_text())
    assert (config["recipe"]["epochs"], config["recipe"]["select"]) == (3, "last")
    assert (config["model"]["dropout"], config["model"]["sharpening"]) == (0.2, 2.0)


def test_unknown_kernels_are_refused_before_anything_is_written(new_command: Command, tmp_path: Path) -> None:
    result = new_command(*QUICK, env={**os.environ, "CONFGCN_KERNELS": "fast"})
    assert (result.returncode, result.stdout) == (2, "")
    assert "CONFGCN_KERNELS 'fast': choose from compiled, pure" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seeds", ["1", "2"])
def test_learned_influence_without_a_search_is_refused_before_anything_is_written(
    command: Command, tmp_path: Path, seeds: str
) -> None:
    words = ("--set", "search=false", "--influence", "learned", "--seeds", seeds, "--out", "run")
    result = command(*QUICK, *words)
    assert (result.returncode, result.stdout) == (2, "")
    assert "error: influence = 'learned': it is learned from the models of a search" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_settings_file_is_parsed_as_data(command: Command, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("!!python/object/apply:os.system ['touch canary']")
    result = command("train", "demo", "--settings", "bad.toml")
    assert result.returncode == 2
    assert "bad.toml: not a TOML file" in result.stderr
    assert not (tmp_path / "canary").exists()


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
    words = ("train", "demo", "--preset", "consensus", "--epochs", "8", "--out")
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


def test_every_name_is_in_the_table_of_predictions(
    trained: Path, tables: Path, read_table: ReadTable, hostile_names: tuple[str, ...]
) -> None:
    rows = read_table(trained / "predictions.csv")
    assert {row["node"] for row in rows} == {row["id"] for row in read_table(tables / "nodes.csv")}
    assert {row["label"] for row in rows} <= {"red", "<green>", "blue", "white"}
    assert not set(hostile_names) - {row["node"] for row in rows}


def test_a_method_without_epochs_prints_that_nothing_is_calibrated(command: Command, tables: Path) -> None:
    source = ("--edges", tables / "edges.csv", "--nodes", tables / "nodes.csv", "--label", "team")
    result = command("train", *source, "--method", "label_propagation", "--out", "lp")
    assert result.returncode == 0
    assert "not calibrated" in result.stderr


def test_names_with_line_ends_stay_one_row_and_one_node(
    command: Command, tmp_path: Path, write_table: WriteTable, read_table: ReadTable
) -> None:
    names = ["a\rb", "c\r\nd", "e\nf", *(f"p{i}" for i in range(27))]
    write_table(
        tmp_path / "nodes.csv", ["id", "label", "x"], [[name, "ab"[i % 2], str(i)] for i, name in enumerate(names)]
    )
    write_table(tmp_path / "edges.csv", ["source", "target"], [(names[i], names[(i + 2) % 30]) for i in range(30)])
    assert command("train", ".", "--epochs", "2", "--out", "run").returncode == 0
    assert [row["node"] for row in read_table(tmp_path / "run" / "predictions.csv")].count("a\rb") == 1
    assert len(read_table(tmp_path / "run" / "predictions.csv")) == 30
    assert command("report", "run").returncode == 0


def test_several_seeds_without_a_test_set_have_a_mean_held_out_accuracy(command: Command, tables: Path) -> None:
    source = ("--edges", tables / "edges.csv", "--nodes", tables / "nodes.csv", "--label", "team")
    result = command("train", *source, "--epochs", "3", "--seeds", "2", "--out", "two", "--json")
    summary = json.loads(result.stdout)
    each = [run["held_out_accuracy"] for run in summary["runs"]]
    assert summary["held_out_accuracy"] == pytest.approx(sum(each) / 2)


def test_a_run_is_not_resumed_with_another_graph(command: Command, tables: Path, tmp_path: Path) -> None:
    home = tmp_path / "people"
    shutil.copytree(tables, home, ignore=shutil.ignore_patterns("run"))
    words = ("train", "people", "--label", "team", "--epochs", "2", "--seeds", "2", "--out", "two")
    assert command(*words).returncode == 0
    shutil.rmtree(tmp_path / "two" / "seed-1")
    (tmp_path / "two" / "metrics.json").unlink()
    for file in ("nodes.csv", "edges.csv"):
        (home / file).write_text((home / file).read_text().replace("person 20", "person twenty"))
    refused = command(*words, "--resume")
    assert refused.returncode == 3
    assert "another graph" in refused.stderr
    assert not (tmp_path / "two" / "seed-1").exists()


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
