"""Whole runs on the built-in graph, short: what is written, the same bytes, resuming, several seeds."""

from __future__ import annotations

import csv
import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from confgcn.data.demo import load_demo
from confgcn.data.transforms import FeatureScaling, scale_features
from confgcn.exceptions import CorruptFileError, DataError, DivergedError, ResourceError, StoppedError, UsageError
from confgcn.graph import Graph
from confgcn.io.checksums import write_checksums
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.runs.request import RunRequest
from confgcn.runs.saved import load_run
from confgcn.runs.train import graphs_of_runs, train
from confgcn.training.callbacks import Callback
from confgcn.training.loop import TrainingLoop

DETERMINISTIC = (
    *("config.json", "history.jsonl", "model.json", "model.safetensors", "predictions.csv"),
    *("disagreeing_edges.csv", "label_errors.csv"),
)


def run(out: Path, *callbacks: Callback, notices: list[str] | None = None, **changes: Any) -> dict[str, Any]:
    request = RunRequest(graph="demo", out=out, overrides={"epochs": 6})
    notify = (lambda _: None) if notices is None else notices.append
    return train(replace(request, **changes), notify=notify, callbacks=callbacks)


class StopAfter(Callback):
    """Ask for a stop the way a signal does."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch(self, loop: TrainingLoop) -> None:
        if len(loop.history) == self.epoch:
            loop.callbacks[-1].request.received = 2


def test_a_run_directory_holds_everything(tmp_path: Path) -> None:
    notices: list[str] = []
    summary = run(tmp_path / "run", notices=notices, preset="released")
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files == {*DETERMINISTIC, "metrics.json", "environment.json", "run.lock", "SHA256SUMS"}
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert summary["test_accuracy"] == metrics["test_accuracy"]
    assert summary["test_accuracy_std"] is None
    environment = json.loads((tmp_path / "run" / "environment.json").read_text())
    assert environment["graph_sha256"] == load_demo().fingerprint
    assert environment["threads"] == 1
    assert any("using those of cora_ml" in notice for notice in notices)


def test_threads_are_given_back(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    run(tmp_path / "run", threads=before + 1)
    assert torch.get_num_threads() == before
    assert json.loads((tmp_path / "run" / "environment.json").read_text())["threads"] == before + 1


def test_predictions_agree_with_the_saved_model_and_the_metrics(tmp_path: Path) -> None:
    summary = run(tmp_path / "run")
    graph = load_demo()
    prediction = load_run(tmp_path / "run").prediction
    with (tmp_path / "run" / "predictions.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["node"] for row in rows] == list(graph.node_names)
    assert [row["label"] for row in rows] == [graph.class_names[c] for c in prediction.logits.argmax(1)]
    mu = torch.tensor([[float(row[f"mu_{name}"]) for name in graph.class_names] for row in rows])
    precision = torch.tensor([[float(row[f"precision_{name}"]) for name in graph.class_names] for row in rows])
    assert torch.equal(mu, prediction.mu)
    assert torch.equal(precision, prediction.precision.clamp(min=0))
    right = [row["label"] == graph.class_names[graph.labels[i]] for i, row in enumerate(rows) if row["split"] == "test"]
    assert sum(right) / len(right) == pytest.approx(summary["test_accuracy"])


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_gives_the_same_bytes(tmp_path: Path, threads: int) -> None:
    for name in ("a", "b"):
        run(tmp_path / name, threads=threads)
    for file in DETERMINISTIC:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_a_stopped_run_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    with pytest.raises(StoppedError, match="--resume"):
        run(tmp_path / "broken", StopAfter(3))
    assert not (tmp_path / "broken" / "metrics.json").exists()
    run(tmp_path / "broken", if_exists="resume")
    for file in DETERMINISTIC:
        assert (tmp_path / "whole" / file).read_bytes() == (tmp_path / "broken" / file).read_bytes()
    assert not (tmp_path / "broken" / "checkpoints").exists()


def test_several_seeds_resume_where_they_stopped(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", seeds=2, seed=4)
    run_dir = tmp_path / "broken"
    with pytest.raises(StoppedError):
        run(run_dir, StopAfter(3), seeds=2, seed=4)
    resumed = run(run_dir, if_exists="resume", seeds=2, seed=4)
    assert {path.name for path in run_dir.glob("seed-*")} == {"seed-4", "seed-5"}
    assert [r["test_accuracy"] for r in resumed["runs"]] == [r["test_accuracy"] for r in whole["runs"]]
    accuracies = [r["test_accuracy"] for r in whole["runs"]]
    assert whole["test_accuracy"] == pytest.approx(sum(accuracies) / 2)
    assert whole["test_accuracy_std"] == pytest.approx(abs(accuracies[0] - accuracies[1]) / 2**0.5)


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    first = run(tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").iterdir() if path.name != "run.lock"}
    assert run(tmp_path / "run", if_exists="resume")["test_accuracy"] == first["test_accuracy"]
    assert before == {path: path.stat().st_mtime_ns for path in before}


def test_an_existing_run_is_refused_and_bad_settings_create_nothing(tmp_path: Path) -> None:
    run(tmp_path / "run")
    with pytest.raises(UsageError, match="already holds a run"):
        run(tmp_path / "run")
    with pytest.raises(UsageError):
        run(tmp_path / "other", overrides={"epochs": 0})
    with pytest.raises(DataError, match="more than half of the pairs"):
        run(tmp_path / "other", overrides={"edges_between_classes": 1e5})
    assert not (tmp_path / "other").exists()


def test_resuming_with_another_seed_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "run")
    with pytest.raises(UsageError, match="seed: 0 there, 1 now"):
        run(tmp_path / "run", seed=1, if_exists="resume")


def test_divergence_keeps_the_best_weights_and_says_where(tmp_path: Path) -> None:
    class Poison(Callback):
        def on_epoch(self, loop: TrainingLoop) -> None:
            if len(loop.history) == 3:
                torch.nn.init.constant_(loop.method.layers[0].weight, float("inf"))

    with pytest.raises(DivergedError, match=r"epoch \d is not finite|best_before_divergence") as raised:
        run(tmp_path / "run", Poison(), preset="consensus")
    assert "best_before_divergence" in str(raised.value)
    assert (tmp_path / "run" / "best_before_divergence.safetensors").is_file()
    assert not (tmp_path / "run" / "metrics.json").exists()


def test_a_damaged_model_is_refused_and_a_missing_one_named(tmp_path: Path) -> None:
    run(tmp_path / "run")
    path = tmp_path / "run" / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"model\.safetensors"):
        load_run(tmp_path / "run")
    with pytest.raises(ResourceError, match="no finished run"):
        load_run(tmp_path)


def test_a_graph_of_another_shape_is_refused_with_both_shapes(tmp_path: Path, six_nodes: Graph) -> None:
    run(tmp_path / "run")
    with pytest.raises(DataError, match=r"num_features=1433.*num_features=4"):
        _ = load_run(tmp_path / "run", graph=six_nodes).graph


def test_resuming_on_another_graph_is_refused_and_other_threads_are_mentioned(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        run(tmp_path / "run", StopAfter(3))
    path = tmp_path / "run" / "environment.json"
    recorded = read_checksummed_json(path)
    write_checksummed_json(path, {**recorded, "threads": 99})
    notices: list[str] = []
    with pytest.raises(StoppedError):
        run(tmp_path / "run", StopAfter(4), if_exists="resume", notices=notices)
    assert any("threads was 99" in notice for notice in notices)
    write_checksummed_json(path, {**recorded, "graph_sha256": "0"})
    with pytest.raises(DataError, match="another graph"):
        run(tmp_path / "run", if_exists="resume")


def test_another_graph_of_the_same_shape_is_refused_and_other_test_labels_are_not(tmp_path: Path) -> None:
    run(tmp_path / "run")
    graph = load_demo()
    labels = graph.labels.clone()
    labels[graph.test] = 0
    relabelled = load_run(tmp_path / "run", graph=replace(graph, labels=labels)).prediction
    assert torch.equal(relabelled.logits, load_run(tmp_path / "run").prediction.logits)
    with pytest.raises(DataError, match="not the graph"):
        _ = load_run(tmp_path / "run", graph=replace(graph, train=graph.train[1:])).prediction


def test_a_model_record_of_another_kind_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "run")
    tensors, record = read_tensors(tmp_path / "run" / "model")
    for change in ({"config": {}}, {"shape": {"num_nodes": 3}}, {"config": {**record["config"], "data": {"x": 1}}}):
        write_tensors(tmp_path / "run" / "model", tensors, {**record, **change})
        write_checksums(tmp_path / "run", (tmp_path / "run").glob("*.*"), not_yet_written={})
        with pytest.raises(CorruptFileError, match="describes no method"):
            load_run(tmp_path / "run")
    (tmp_path / "run" / "model.safetensors").unlink()
    with pytest.raises(CorruptFileError, match="missing"):
        load_run(tmp_path / "run")


def test_damaged_metrics_of_a_finished_run_are_named_and_made_again(tmp_path: Path) -> None:
    notices: list[str] = []
    before = run(tmp_path / "run")
    (tmp_path / "run" / "metrics.json").write_text("{}")
    after = run(tmp_path / "run", if_exists="resume", notices=notices)
    assert any("metrics.json" in notice and "trained again" in notice for notice in notices)
    assert {**after, "seconds": 0, "runs": []} == {**before, "seconds": 0, "runs": []}


def test_resuming_with_another_kind_of_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        run(tmp_path / "run", StopAfter(2), seeds=2, fixed_split=True)
    with pytest.raises(UsageError, match="fixed_split: True there, False now"):
        run(tmp_path / "run", seeds=2, if_exists="resume")


def test_runs_in_several_threads_take_turns(tmp_path: Path) -> None:
    run(tmp_path / "alone")
    threads = [threading.Thread(target=run, args=(tmp_path / f"thread-{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(3):
        for file in DETERMINISTIC:
            assert (tmp_path / f"thread-{i}" / file).read_bytes() == (tmp_path / "alone" / file).read_bytes()


def test_overwriting_waits_until_the_new_run_is_possible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "run")

    monkeypatch.setattr("confgcn.io.memory.available_memory", lambda: 1000)
    with pytest.raises(ResourceError, match=r"bytes, 1,000 are available"):
        run(tmp_path / "run", if_exists="overwrite")
    assert (tmp_path / "run" / "metrics.json").is_file()


@pytest.mark.real_data
def test_released_preset_is_indifferent_to_its_influences(data_dir: Path, tmp_path: Path) -> None:
    """The control of the paper's idea: with every influence made uniform hardly a prediction changes."""
    request = RunRequest(
        graph="cora", preset="released", data_dir=data_dir, overrides={"epochs": 60}, out=tmp_path / "run"
    )
    summary = train(request, notify=lambda _: None)
    assert summary["test_accuracy"] > 0.75
    saved = load_run(tmp_path / "run", data_dir=data_dir)
    learned = saved.prediction.logits.argmax(1)
    saved.method.influence = "uniform"
    uniform = saved.method.predict(saved.prepared.training_view()).logits.argmax(1)
    assert float((learned != uniform).float().mean()) < 0.005


def test_a_graph_is_read_again_only_where_its_split_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def load(name: str, *, data_dir: Path | None, split_seed: int) -> Graph:
        asked.append(split_seed)
        return load_demo()

    monkeypatch.setattr("confgcn.runs.graph_input.load_dataset", load)
    assert len(list(graphs_of_runs(RunRequest(graph="cora", seeds=3)))) == 3
    assert len(list(graphs_of_runs(RunRequest(graph="cora_ml", seeds=3, split_seed=5)))) == 3
    assert asked == [0, 5, 6, 7]


def test_features_are_scaled_once_per_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scaled: list[str] = []

    def counting(graph: Graph, how: FeatureScaling, **fitted: Any) -> Graph:
        scaled.append(how)
        return scale_features(graph, how, **fitted)

    monkeypatch.setattr("confgcn.runs.settings.scale_features", counting)
    run(tmp_path / "run")
    assert len(scaled) == 1
