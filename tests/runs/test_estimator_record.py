"""What is kept of an estimator: exactly, or refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from confgcn.data.label_values import LabelValues
from confgcn.exceptions import CorruptFileError
from confgcn.graph import Graph
from confgcn.runs.estimator_record import EstimatorRecord, plain
from confgcn.runs.request import RunRequest, run_config
from confgcn.runs.train import fit_in_memory

PARAMS = {"preset": "default", "settings": {"epochs": 3}, "add_features": ("degree",)}


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    record = EstimatorRecord(PARAMS, [2, 0, 1], LabelValues("whole"))
    record.write(tmp_path / "estimator.json")
    assert EstimatorRecord.read(tmp_path / "estimator.json", num_nodes=3) == record


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 3], [0, 1, "2"]])
def test_an_order_of_other_nodes_is_refused(tmp_path: Path, order: list[int]) -> None:
    EstimatorRecord(PARAMS, order, LabelValues()).write(tmp_path / "estimator.json")
    with pytest.raises(CorruptFileError, match="describes no estimator of this run"):
        EstimatorRecord.read(tmp_path / "estimator.json", num_nodes=3)


def test_a_run_of_a_command_asks_for_itself(small_graph: Graph) -> None:
    request = RunRequest(small_graph, method="gcn", seed=4, overrides={"epochs": 2})
    run = fit_in_memory(small_graph, request.settings(), run_config(request), notify=lambda _: None)
    record = EstimatorRecord.of_run(run)
    assert record.params["settings"] == {"epochs": 2}
    assert (record.params["method"], record.params["random_state"]) == ("gcn", 4)
    assert list(record.order) == list(range(120))


def test_plain_values_are_those_of_json() -> None:
    assert plain({"a": (np.int64(1), np.float32(0.5)), "b": [None, "x"]}) == {"a": [1, 0.5], "b": [None, "x"]}
