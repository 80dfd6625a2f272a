"""The same request gives the same bytes; neither the network nor test labels change them."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from confgcn import kernels

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

RUN_DIRECTORY = Path(__file__).parents[2] / "docs" / "run_directory.md"
THREADS_TOLERANCE = 1e-3  # of a probability, between two numbers of threads; docs/run_directory.md states it
SPLIT = ("--validation", 0.3, "--test", 0.2)
TRAIN = ("train", "mygraph", "--epochs", 20)
RUN = (*TRAIN, *SPLIT, "--out", "run")
AFTERWARDS = (("evaluate", "run"), ("report", "run"), ("predict", "run", "--out", "rows.csv"))
Differences = Callable[[Path, Path], list[str]]


@pytest.fixture(scope="module")
def finished(outside_before: Outside) -> Path:
    """A folder with a graph, a run and all that is made of it."""
    outside_before.write_graph()
    for words in (RUN, *AFTERWARDS):
        outside_before.accepts(*words)
    return outside_before.folder


@pytest.mark.fault("P27")
def test_the_same_commands_write_the_same_bytes(outside: Outside, differences: Differences, finished: Path) -> None:
    outside.write_graph()
    for words in (RUN, *AFTERWARDS):
        outside.accepts(*words)
    assert differences(outside.folder, finished) == []


@pytest.mark.fault("P27")
@pytest.mark.parametrize(
    ("method", "split"), [("confgcn", ()), ("planetoid", SPLIT), ("gpnn", SPLIT)], ids=["confgcn", "planetoid", "gpnn"]
)
def test_every_random_number_of_a_method_depends_on_its_seed(
    outside: Outside, differences: Differences, method: str, split: tuple[Any, ...]
) -> None:
    """Without validation nodes there are also the trainings that hold out every label in turn."""
    outside.write_graph()
    for out, seed in (("one", 0), ("another", 0), ("other", 1)):
        outside.accepts("train", "mygraph", "--epochs", 2, *split, "--method", method, "--out", out, "--seed", seed)
    assert differences(outside.folder / "one", outside.folder / "another") == []
    assert "predictions.csv" in differences(outside.folder / "one", outside.folder / "other")


@pytest.mark.fault("P23", "P27")
def test_a_new_process_with_another_environment_and_no_network_writes_the_same_bytes(
    outside: Outside, differences: Differences, finished: Path
) -> None:
    outside.write_graph()
    alone = ["unshare", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("the network cannot be taken away here")
    others = {"PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "2", "LC_ALL": "C", "TZ": "Asia/Tokyo"}
    words = [*alone, sys.executable, "-m", "confgcn", *map(str, RUN)]
    subprocess.run(words, cwd=outside.folder, env={**os.environ, **others}, check=True, capture_output=True)
    made_later = ["evaluation.json", "groups.svg", "reliability.svg", "report.html", "risk_coverage.svg"]
    assert differences(outside.folder / "run", finished / "run") == made_later


@pytest.mark.fault("P21")
def test_another_number_of_threads_changes_no_more_than_documented(outside: Outside) -> None:
    for threads in (1, 2):
        outside.accepts("train", "demo", "--epochs", 10, "--threads", threads, "--out", threads)
    one, two = (outside.folder / out for out in "12")
    pairs = zip(numbers(one / "predictions.csv"), numbers(two / "predictions.csv"), strict=True)
    worst = max(abs(of_one - of_two) for of_one, of_two in pairs)
    assert worst <= THREADS_TOLERANCE
    assert [json.loads((run / "environment.json").read_text())["threads"] for run in (one, two)] == [1, 2]
    assert f"{THREADS_TOLERANCE:g}" in RUN_DIRECTORY.read_text(encoding="utf-8")


def numbers(table: Path) -> list[float]:
    """The probabilities of every label of every node."""
    with table.open(newline="", encoding="utf-8") as stream:
        return [float(row[name]) for row in csv.DictReader(stream) for name in row if name.startswith("probability_")]


@pytest.mark.fault("P27")
def test_a_run_records_what_its_bytes_depend_on(finished: Path) -> None:
    config, environment = (
        json.loads((finished / "run" / f"{name}.json").read_text()) for name in ("config", "environment")
    )
    assert (config["seed"], config["split_seed"], config["dataset"]) == (0, 0, "mygraph")
    assert config["input"] == {"path": "mygraph", "validation": 0.3, "test": 0.2}
    assert {"data", "model", "recipe"} <= config.keys()
    assert environment["versions"] == {
        name: version(name) for name in ("confgcn", "torch", "numpy", "scipy", "safetensors", "pyarrow")
    }
    assert environment["python"] == ".".join(map(str, sys.version_info[:3]))
    assert (environment["threads"], environment["kernels"]) == (1, kernels.active_name())
    assert re.fullmatch(r"[0-9a-f]{64}", environment["graph_sha256"])
    assert environment["platform"]


@pytest.mark.fault("P27")
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [("nodes.csv", "n0,a,0.0", "n0,a,0.5"), ("edges.csv", "n0,n1", "n0,n9"), ("nodes.csv", "n0,a", "n0,b")],
)
def test_the_hash_of_the_input_differs_between_graphs(
    outside: Outside, finished: Path, file: str, old: str, new: str
) -> None:
    shutil.copytree(finished, outside.folder, dirs_exist_ok=True)
    text = (outside.folder / "mygraph" / file).read_text()
    assert text.count(old) >= 1
    outside.write(f"mygraph/{file}", text.replace(old, new, 1))
    outside.refuses(*RUN, "--resume", code=3, naming=["run: cannot resume, the run began with another graph"])


@pytest.mark.fault("P28")
@pytest.mark.parametrize("validated", [True, False], ids=["validated", "crossed"])
def test_labels_of_test_nodes_change_no_prediction(outside: Outside, differences: Differences, validated: bool) -> None:
    """The labels of all test nodes are exchanged; files may differ only where they evaluate these labels."""
    outside.write_graph()
    nodes = outside.folder / "mygraph" / "nodes.csv"
    lines = [with_part(line, place, validated) for place, line in enumerate(nodes.read_text().splitlines())]
    for out, exchange in (("as given", {}), ("exchanged", {"a": "b", "b": "a"})):
        nodes.write_text("\n".join(with_label(line, exchange) for line in lines))
        outside.accepts(*TRAIN, "--out", out)
    differing = differences(outside.folder / "as given", outside.folder / "exchanged")
    assert differing == ["SHA256SUMS", "environment.json", "graph.npz", "metrics.json"]


def with_part(line: str, place: int, validated: bool) -> str:
    """A line of the table with the part that its node belongs to."""
    parts = ("train", "test", "validation" if validated else "train", "train")
    label = line.split(",")[1]
    return f"{line},{'split' if label == 'label' else parts[place // 3 % 4] if label else ''}"


def with_label(line: str, exchange: dict[str, str]) -> str:
    name, label, *rest = line.split(",")
    return ",".join([name, exchange.get(label, label) if rest[-1] == "test" else label, *rest])


PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
DEAD_PROXY = dict.fromkeys(PROXIES, "http://127.0.0.1:9")
# Every use of a socket is written down and refused.
WITHOUT_SOCKETS = """
import os, sys
record = os.open({record!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def refuse(event, arguments):
    if event.startswith(("socket.", "urllib.", "http.")):
        os.write(record, f"{{event}} {{arguments}}\\n".encode())
        raise OSError("no network")
sys.addaudithook(refuse)
"""
LOCAL = (
    *(("inspect", "mygraph"), ("train", "mygraph", *SPLIT, "--epochs", 2, "--out", "new"), ("evaluate", "run")),
    *(("report", "run"), ("predict", "run", "--out", "new.csv"), ("explain", "run", "n1"), ("methods",), ("datasets",)),
    *(("convert", "mygraph", "--out", "new.npz"), ("train", "demo", "--epochs", 1, "--out", "demo")),
)


@pytest.mark.fault("P23")
@pytest.mark.parametrize("words", LOCAL, ids=lambda words: " ".join(words[:2]))
def test_local_commands_use_no_network(outside: Outside, finished: Path, words: tuple[Any, ...]) -> None:
    shutil.copytree(finished, outside.folder, dirs_exist_ok=True)
    record = outside.records / "requests"
    outside.accepts(*words, before=WITHOUT_SOCKETS.format(record=str(record)), environment=DEAD_PROXY)
    assert record.read_text() == ""


@pytest.mark.fault("P23")
def test_a_missing_data_set_is_requested_once_and_named(outside: Outside) -> None:
    """The one case in which the network is used: a benchmark file that is on no disk."""
    record = outside.records / "requests"
    places = {"CONFGCN_DATA": "", "XDG_CACHE_HOME": str(outside.records / "cache")}
    environment = {**DEAD_PROXY, **places}
    before = WITHOUT_SOCKETS.format(record=str(record))
    ended = outside.run("train", "cora", "--out", "run", before=before, environment=environment)
    assert (ended.code, list(outside.folder.iterdir())) == (4, []), ended.errors
    assert re.search(r"error: Cora: .* not on this machine and could not be downloaded", ended.errors), ended.errors
    assert "--data-dir" in ended.errors
    assert record.read_text() != ""
