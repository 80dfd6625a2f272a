"""A newcomer with two CSV files: from files to a report, to new nodes, and to other formats."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from confgcn.data.synthetic import block_model

Command = Callable[..., "subprocess.CompletedProcess[str]"]

HOSTILE = ("<b>bold</b>", '=cmd("x")', 'naïve, “quoted” "twice"', "line\nbreak", "שלום 👩‍🔬", "{{7*7}}", "'; --")
NEW = 10


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A graph of 150 people; a third are labelled; the last ten come later. Some names are hard to print."""
    folder = tmp_path_factory.mktemp("people")
    graph = block_model(150, seed=2, num_features=6)
    names = [f"person {node}" for node in range(150)]
    names[: len(HOSTILE)] = HOSTILE
    teams = ["red", "<green>", "blue", "white"]
    labelled = np.random.default_rng(0).random(150) < 0.4
    rows = []
    for node, name in enumerate(names):
        label = teams[int(graph.labels[node])] if labelled[node] or node >= 150 - NEW else ""
        values = [f"{value:.9g}" for value in graph.features[node].tolist()]
        rows.append([name, label, *values, ("north", "south")[node % 2]])
    header = ["id", "team", *(f"x{column}" for column in range(6)), "region"]
    ends = list(zip(graph.neighbours.rows.tolist(), graph.neighbours.indices.tolist(), strict=True))
    edges = [(names[a], names[b]) for a, b in ends if a < b]
    is_new = set(names[-NEW:])
    write(folder / "nodes.csv", header, rows[:-NEW])
    write(folder / "edges.csv", ["from", "to"], [pair for pair in edges if not is_new & set(pair)])
    write(folder / "new_nodes.csv", header, rows[-NEW:])
    write(folder / "new_edges.csv", ["from", "to"], [pair for pair in edges if is_new & set(pair)])
    return folder


@pytest.fixture(scope="module")
def trained(tables: Path, command_in: Command) -> Path:
    """A run of the command that a newcomer starts with."""
    words = ("--edges", "edges.csv", "--nodes", "nodes.csv", "--label", "team", "--epochs", "20", "--out", "run")
    result = command_in(tables, "train", *words)
    assert result.returncode == 0, result.stderr
    assert "held out in turn" in result.stdout
    return tables / "run"


def write(path: Path, header: list[str], rows: list[list[str]] | list[tuple[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_inspecting_says_in_words_what_is_there(command: Command, tables: Path) -> None:
    result = command("inspect", "--edges", tables / "edges.csv", "--nodes", tables / "nodes.csv", "--label", "team")
    assert result.returncode == 0, result.stderr
    first = result.stdout.splitlines()[0]
    assert "140 nodes" in first
    assert "8 features, 4 classes (<green>, blue, red, white)" in first


def test_every_name_survives_into_the_table(trained: Path, tables: Path) -> None:
    rows = read(trained / "predictions.csv")
    assert {row["node"] for row in rows} == {row["id"] for row in read(tables / "nodes.csv")}
    assert {row["label"] for row in rows} <= {"red", "<green>", "blue", "white"}
    assert not set(HOSTILE) - {row["node"] for row in rows}


def test_the_report_is_one_file_that_shows_names_as_text(command: Command, trained: Path, tmp_path: Path) -> None:
    result = command("report", trained, "--out", tmp_path / "report.html")
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<b>bold" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page


def test_evaluating_and_explaining_need_no_more_than_the_run(command: Command, trained: Path) -> None:
    found = json.loads(command("evaluate", trained, "--json").stdout)
    assert found["evaluated_on"] == "labels held out in turn"
    assert 0.5 < found["accuracy"] <= 1
    explained = json.loads(command("explain", trained, HOSTILE[3], "--json").stdout)
    assert explained["node"] == HOSTILE[3]
    wrong = command("explain", trained, "person 1O")
    assert wrong.returncode == 2
    assert "did you mean" in wrong.stderr


def test_new_nodes_are_predicted_and_old_ones_keep_what_was_said(
    command: Command, trained: Path, tables: Path, tmp_path: Path
) -> None:
    new = ("--edges", tables / "new_edges.csv", "--nodes", tables / "new_nodes.csv")
    result = command("predict", trained, *new, "--out", tmp_path / "new.csv", "--json")
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert summary["new"] == NEW
    assert summary["accuracy"] >= 0.5
    before = {row["node"]: row for row in read(trained / "predictions.csv")}
    rows = read(tmp_path / "new.csv")
    assert {row["node"] for row in rows if row["is_new"] == "yes"} == {f"person {node}" for node in range(140, 150)}
    for row in rows:
        if row["is_new"] == "no":
            assert row["probability"] == before[row["node"]]["probability"]
    again = command("predict", trained, *new, "--out", tmp_path / "new.csv")
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_predicting_nothing_new_gives_the_same_bytes_in_another_process(
    command: Command, trained: Path, tmp_path: Path
) -> None:
    assert command("predict", trained, "--out", tmp_path / "again.csv").returncode == 0
    assert (tmp_path / "again.csv").read_bytes() == (trained / "predictions.csv").read_bytes()


def test_a_wrong_table_of_new_nodes_is_named_and_nothing_is_written(
    command: Command, trained: Path, tables: Path, tmp_path: Path
) -> None:
    rows = [[row["id"], row["x0"]] for row in read(tables / "new_nodes.csv")]
    write(tmp_path / "few.csv", ["id", "x0"], rows)
    result = command("predict", trained, "--edges", tables / "new_edges.csv", "--nodes", "few.csv", "--out", "o.csv")
    assert result.returncode == 3
    assert "few.csv" in result.stderr
    assert "x1" in result.stderr
    assert not (tmp_path / "o.csv").exists()
    misspelt = command("predict", trained, "--edges", tables / "new_edges.csv", "--nodes", "few.csv", "--label", "taem")
    assert misspelt.returncode == 2
    assert "taem" in misspelt.stderr


def test_converting_there_and_back_keeps_every_byte(command: Command, tables: Path, tmp_path: Path) -> None:
    source = ("--edges", tables / "edges.csv", "--nodes", tables / "nodes.csv", "--label", "team")
    assert command("convert", *source, "--out", "a").returncode == 0
    for start, end in (("a", "b.npz"), ("b.npz", "c.graphml"), ("c.graphml", "d")):
        result = command("convert", start, "--out", end)
        assert result.returncode == 0, result.stderr
    for file in ("nodes.csv", "edges.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "d" / file).read_bytes()


def test_a_graph_is_not_written_over_itself(command: Command, tables: Path, tmp_path: Path) -> None:
    shutil.copytree(tables, tmp_path / "g", ignore=shutil.ignore_patterns("run", "new_*"))
    before = (tmp_path / "g" / "nodes.csv").read_bytes()
    for words in (("g",), ("--edges", "g/edges.csv", "--nodes", "g/nodes.csv")):
        result = command("convert", *words, "--label", "team", "--out", "g", "--overwrite")
        assert result.returncode == 2
        assert "not written over itself" in result.stderr
    assert (tmp_path / "g" / "nodes.csv").read_bytes() == before


def test_a_method_that_is_solved_says_that_nothing_is_calibrated(command: Command, tables: Path) -> None:
    source = ("--edges", tables / "edges.csv", "--nodes", tables / "nodes.csv", "--label", "team")
    result = command("train", *source, "--method", "label_propagation", "--out", "lp")
    assert result.returncode == 0
    assert "not calibrated" in result.stderr


def test_options_may_come_from_a_file_and_the_command_line_wins(command: Command, tables: Path, tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text(
        f'edges = "{tables}/edges.csv"\nnodes = "{tables}/nodes.csv"\nlabel = "team"\nignore = "region"\n'
        'seed = 7\nout = "here"\nadd-features = ["degree"]\n[settings]\nepochs = 2\nhidden_dim = 5\n'
    )
    result = command("train", "--config", "run.toml", "--seed", "8")
    assert result.returncode == 0, result.stderr
    config = json.loads((tmp_path / "here" / "config.json").read_text())
    assert (config["seed"], config["recipe"]["epochs"], config["model"]["hidden_dim"]) == (8, 2, 5)
    assert config["input"]["ignore"] == ["region"]
    assert config["input"]["structural"] == ["degree"]
    for text, message in (
        ("sed = 7", "did you mean 'seed'"),
        ("epochs = true", "bad.toml: epochs = True"),
        ("epochs = [1]", "bad.toml: epochs is a list"),
        ("resume = 1", "expected true or false"),
    ):
        (tmp_path / "bad.toml").write_text(text)
        wrong = command("train", "demo", "--config", "bad.toml")
        assert wrong.returncode == 2
        assert message in wrong.stderr
    assert not (tmp_path / "runs").exists()


def test_changed_features_of_a_known_node_are_refused_or_taken(
    command: Command, trained: Path, tables: Path, tmp_path: Path
) -> None:
    rows = read(tables / "nodes.csv")
    person = next(row for row in rows if row["id"] == "person 20")
    write(tmp_path / "n.csv", list(person), [[*{**person, "x0": "9"}.values()]])
    (tmp_path / "e.csv").write_text("from,to\n")
    new = ("--edges", "e.csv", "--nodes", "n.csv", "--out", "o.csv")
    refused = command("predict", trained, *new)
    assert refused.returncode == 3
    assert "'person 20'" in refused.stderr
    assert not (tmp_path / "o.csv").exists()
    assert command("predict", trained, *new, "--update-existing").returncode == 0
    after = {row["node"]: row["probability"] for row in read(tmp_path / "o.csv")}
    before = {row["node"]: row["probability"] for row in read(trained / "predictions.csv")}
    assert after["person 20"] != before["person 20"]


def test_gaps_of_new_nodes_are_filled_with_the_means_of_the_training(command: Command, tmp_path: Path) -> None:
    people = [[f"p{i}", "ab"[i % 2], str(i % 2 * 10), ""] for i in range(30)]
    for row in people[:29]:
        row[3] = "4"
    write(tmp_path / "nodes.csv", ["id", "label", "x", "z"], people)
    write(tmp_path / "edges.csv", ["source", "target"], [(f"p{i}", f"p{(i + 2) % 30}") for i in range(30)])
    assert command("train", ".", "--impute", "--epochs", "3", "--out", "run").returncode == 0
    write(tmp_path / "new.csv", ["id", "x", "z"], [["q", "0", ""]])
    write(tmp_path / "more.csv", ["source", "target"], [("q", "p0")])
    result = command("predict", "run", "--edges", "more.csv", "--nodes", "new.csv", "--json")
    assert result.returncode == 0, result.stderr
    assert "filled with the mean, 4" in result.stderr


def test_names_with_line_ends_stay_one_row_and_one_node(command: Command, tmp_path: Path) -> None:
    names = ["a\rb", "c\r\nd", "e\nf", *(f"p{i}" for i in range(27))]
    write(tmp_path / "nodes.csv", ["id", "label", "x"], [[name, "ab"[i % 2], str(i)] for i, name in enumerate(names)])
    write(tmp_path / "edges.csv", ["source", "target"], [(names[i], names[(i + 2) % 30]) for i in range(30)])
    assert command("train", ".", "--epochs", "2", "--out", "run").returncode == 0
    assert [row["node"] for row in read(tmp_path / "run" / "predictions.csv")].count("a\rb") == 1
    assert len(read(tmp_path / "run" / "predictions.csv")) == 30
    assert command("report", "run").returncode == 0


def test_several_seeds_without_a_test_set_are_summed_up(command: Command, tables: Path) -> None:
    source = ("--edges", tables / "edges.csv", "--nodes", tables / "nodes.csv", "--label", "team")
    result = command("train", *source, "--epochs", "3", "--seeds", "2", "--out", "two", "--json")
    summary = json.loads(result.stdout)
    each = [run["held_out_accuracy"] for run in summary["runs"]]
    assert summary["held_out_accuracy"] == pytest.approx(sum(each) / 2)


def test_a_resumed_run_does_not_mix_two_graphs(command: Command, tables: Path, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("train",), 2, "no graph"),
        (("inspect", "demo", "--edges", "nope.csv"), 2, "named graph"),
        (("predict", "nowhere", "--features", "f.npy"), 2, "--features needs --edges"),
        (("predict", "nowhere"), 2, "nothing new to predict"),
        (("train", "coar"), 2, "did you mean 'cora'"),
        (("train", "coar"), 2, "nor is there a file or folder /"),
        (("train", "./nowhere"), 4, "nowhere"),
        (("train", "demo", "--label", "x"), 2, "named graph"),
        (("inspect", "--edges", "e.csv", "--nodes", "n.csv", "--test", "1.5"), 2, "share"),
        (("train", "--edges", "e.csv", "--add-features", "degre"), 2, "did you mean 'degree'"),
        (("predict", "nowhere", "--nodes", "n.csv"), 2, "--nodes needs --edges"),
        (("report", "nowhere"), 4, "holds no finished run"),
    ],
)
def test_wrong_words_get_one_message_and_leave_nothing(
    command: Command, tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    result = command(*words)
    assert result.returncode == code, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not list(tmp_path.iterdir())
