"""A request is checked where it is made, and decides the configuration of each run."""

from __future__ import annotations

from typing import Any

import pytest

from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.runs.request import RunRequest, run_config, settings_notices


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"seed": 2**70},
        {"seed": "1"},
        {"seeds": 0},
        {"threads": 0},
        {"split_seed": -1},
        {"if_exists": "no"},
    ],
)
def test_a_request_is_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        RunRequest(graph="demo", **wrong)


def test_only_a_graph_without_public_split_moves_its_split_seed() -> None:
    assert [RunRequest(graph="cora_ml", split_seed=3).split_seed_of(i) for i in range(3)] == [3, 4, 5]
    assert [RunRequest(graph="cora_ml", split_seed=3, fixed_split=True).split_seed_of(i) for i in range(3)] == [3] * 3
    assert [RunRequest(graph="cora").split_seed_of(i) for i in range(3)] == [0, 0, 0]


def test_the_configuration_has_the_seed_of_the_run_and_the_settings_of_the_preset(six_nodes: Graph) -> None:
    request = RunRequest(six_nodes, preset="released", seed=7, overrides={"epochs": 3, "hidden_dim": 5})
    first, second = (run_config(request, run) for run in (0, 1))
    assert (first["dataset"], first["seed"], second["seed"]) == ("six_nodes", 7, 8)
    assert (first["preset"], first["recipe"]["epochs"], first["model"]["hidden_dim"]) == ("released", 3, 5)


def test_settings_of_another_data_set_give_a_notice(six_nodes: Graph) -> None:
    own, other = RunRequest("cora", preset="released"), RunRequest(six_nodes, preset="released")
    assert settings_notices(own, own.settings()) == []
    (notice,) = settings_notices(other, other.settings())
    assert notice == "six_nodes has no settings of its own in preset released: using those of cora_ml"
    default = RunRequest(six_nodes)
    assert settings_notices(default, default.settings()) == []
