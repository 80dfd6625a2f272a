"""The records of a run are read again if they are such as a run writes, and else refused with the name of the file."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from confgcn.data.labels import LabelValues
from confgcn.data.synthetic import block_model
from confgcn.exceptions import CorruptFileError
from confgcn.graph import Graph
from confgcn.io.json_files import read_checksummed_json, read_json, write_checksummed_json
from confgcn.io.tensor_files import read_tensors
from confgcn.runs.records import (
    EstimatorRecord,
    check_model_record,
    plain,
    read_environment,
    read_history,
    read_metrics,
)
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.train import fit_in_memory, train

GRAPH = block_model(120, seed=1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("records") / "run"
    train(RunRequest(GRAPH, overrides={"epochs": 2}, out=out), notify=lambda _: None)
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def changed(record: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Another value at a place such as ``a.b``; None of them at all where it is ``...``."""
    first, _, rest = path.partition(".")
    if rest:
        return {**record, first: changed(record[first], rest, value)}
    return {**record, first: value} if value is not ... else {key: record[key] for key in record if key != first}


def test_the_records_of_a_run_are_read(run: Path) -> None:
    assert read_metrics(run / "metrics.json") == read_json(run / "metrics.json")
    assert read_environment(run / "environment.json")["graph_sha256"] == GRAPH.fingerprint
    assert [record["epoch"] for record in read_history(run / "history.jsonl")] == [1, 2]
    check_model_record(run / "model.json", read_tensors(run / "model")[1])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("test_accuracy", "0.5"),
        ("test_accuracy", 1.5),
        ("validation_accuracy", ...),
        ("seconds", -1),
        ("seconds", 10**400),
        ("decisions", 5),
        ("validation_roc_auc", 1.5),
        ("imbalanced", None),
        ("notices", [{"code": "unknown"}]),
        ("notices", [{"code": "one_class", "label": "a"}]),
        ("cross_fitted", 1),
        ("best_epoch", 1.5),
        ("raw", {}),
        ("calibrated.groups", [1]),
        ("calibrated.auroc_probability", "x"),
        ("dataset", None),
        ("seed", 2**63),
        ("model", []),
    ],
)
def test_metrics_of_another_form_are_refused(run: Path, path: str, value: Any) -> None:
    file = run / "metrics.json"
    file.write_text(json.dumps(changed(read_json(file), path, value)))
    with pytest.raises(CorruptFileError, match=rf"metrics\.json: corrupt, these are not the metrics of a run \({path}"):
        read_metrics(file)


@pytest.mark.parametrize(
    ("path", "value"), [("versions", "1"), ("versions.torch", 2), ("notices", ...), ("notices", [1]), ("threads", -1)]
)
def test_an_environment_of_another_form_is_refused(run: Path, path: str, value: Any) -> None:
    file = run / "environment.json"
    write_checksummed_json(file, changed(read_checksummed_json(file), path, value))
    with pytest.raises(CorruptFileError, match=rf"environment\.json: corrupt, this is not the environment .*\({path}"):
        read_environment(file)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("config", {}),
        ("config.seed", -1),
        ("config.input", {"label": {"a": 1}}),
        ("shape", {"num_nodes": 3}),
        ("shape.num_nodes", 0),
        ("shape.more", 1),
        ("graph_sha256", 5),
        ("calibration.parameters.intercept", 1e9),
        ("calibration.parameters.spread", 0),
        ("calibration.more", 1),
        ("calibration.log_losses", {"x": "y"}),
        ("calibration.flattening", "0"),
        ("calibration.flattening", 1e9),
    ],
)
def test_a_model_of_another_form_is_refused(run: Path, path: str, value: Any) -> None:
    record = changed(read_tensors(run / "model")[1], path, value)
    where = re.sub(r"^calibration\..*", "calibration: ", path)
    with pytest.raises(CorruptFileError, match=rf"model\.json: describes no method of this version \({where}"):
        check_model_record(run / "model.json", record)


def test_a_history_names_its_file_and_what_is_wrong(run: Path) -> None:
    file = run / "history.jsonl"
    lines = file.read_text().splitlines()
    for content, problem in (
        (lines[1], "corrupt, epoch 1 of the history"),
        (lines[0] + "\n{", "corrupt, not readable as JSON"),
        ("[" * 100_000, "corrupt, not readable as JSON"),
        (lines[0].replace('"loss": ', '"loss": 1e999, "lost": '), "loss is not a finite number"),
    ):
        file.write_text(content)
        with pytest.raises(CorruptFileError, match=rf"history\.jsonl: {problem}|history\.jsonl: corrupt.*{problem}"):
            read_history(file)
    file.write_bytes(b"\xff")
    with pytest.raises(CorruptFileError, match=r"history\.jsonl: corrupt"):
        read_history(file)


def test_a_long_value_makes_no_long_message(run: Path) -> None:
    file = run / "metrics.json"
    file.write_text(json.dumps({**read_json(file), "raw": {"x" * 5000: 1}}))
    with pytest.raises(CorruptFileError) as raised:
        read_metrics(file)
    assert len(str(raised.value)) < len(str(file)) + 500


PARAMS = {"preset": "default", "settings": {"epochs": 3}, "add_features": ("degree",)}


def test_the_record_of_an_estimator_comes_back(tmp_path: Path) -> None:
    record = EstimatorRecord(PARAMS, [2, 0, 1], LabelValues("whole"))
    record.write(tmp_path / "estimator.json")
    assert EstimatorRecord.read(tmp_path / "estimator.json", num_nodes=3) == record


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, "2"]])
def test_an_order_of_other_nodes_is_refused(tmp_path: Path, order: list[int]) -> None:
    EstimatorRecord(PARAMS, order, LabelValues()).write(tmp_path / "estimator.json")
    with pytest.raises(CorruptFileError, match="describes no estimator of this run"):
        EstimatorRecord.read(tmp_path / "estimator.json", num_nodes=3)


def test_an_estimator_of_a_run_by_a_command_has_its_settings(small_graph: Graph) -> None:
    request = RunRequest(small_graph, method="gcn", seed=4, overrides={"epochs": 2})
    run = fit_in_memory(small_graph, request.settings(), run_config(request), notify=lambda _: None)
    record = EstimatorRecord.of_run(run)
    assert record.params["settings"] == {"epochs": 2}
    assert (record.params["method"], record.params["random_state"]) == ("gcn", 4)
    assert list(record.order) == list(range(120))


def test_plain_values_are_those_of_json() -> None:
    assert plain({"a": (np.int64(1), np.float32(0.5)), "b": [None, "x"]}) == {"a": [1, 0.5], "b": [None, "x"]}
